/** How a question was routed: what the Router said, and how it is shown. */

import { fill, gettext, language } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

/** `0.93 fixie/dice: Roll two dice`: a score from 0 to 1, an agent, and the sample question of it that is nearest. */
const CANDIDATE = /^([01](?:\.\d+)?) ([\w-]+\/[\w-]+): ?(.*)$/;

/** What the Router's sentence before the candidates begins with, where it does not simply choose the first. */
const VERDICTS = [
  ["none", /^No agent/],
  ["close", /^Two agents/],
  ["rule", /^A rule/],
];

/** Agents that a rule prefers and that could not be asked, each with the reason. */
const PASSED_OVER = /^Passed over: (.*)/m;

/**
 * `{text, sentence, verdict, candidates, passedOver}` of a question and the Router's words on it, null while it has none.
 *
 * `verdict` is `chosen`, `rule` (a rule chose), `close` (several fit alike), `none` (nobody fits), or null at first;
 * each candidate is `{agent, score, matched}`, the best one first.
 */
export function routeOf(text, words) {
  const lines = words?.split("\n") ?? [];
  const found = lines.map((line) => CANDIDATE.exec(line));
  const candidates = found
    .filter(Boolean)
    .map(([, score, agent, matched]) => ({ agent, score: Number(score), matched }));
  const sentence = lines.filter((line, index) => line.trim() && !found[index]).join(" ");
  const passedOver = PASSED_OVER.exec(words ?? "")?.[1] ?? "";
  return { text, sentence, verdict: words === null ? null : verdictOf(sentence, candidates), candidates, passedOver };
}

function verdictOf(sentence, candidates) {
  const named = VERDICTS.find(([, begins]) => begins.test(sentence));
  return named ? named[0] : candidates.length ? "chosen" : "none";
}

const SUMMARIES = {
  chosen: ([{ agent }]) => fill(gettext("Chose %(agent)s"), { agent }),
  rule: ([{ agent }]) => fill(gettext("Chose %(agent)s by a rule"), { agent }),
  close: ([{ agent: one }, other]) =>
    fill(gettext("Undecided between %(one)s and %(other)s"), { one, other: other?.agent ?? "…" }),
  none: () => gettext("Found no agent that fits"),
};

/** The Router names the rule in brackets. */
const RULE = /\((.*)\)/;

const EXPLANATIONS = {
  chosen: () => gettext("The question was compared with the sample questions of the agents."),
  rule: (sentence) => {
    const rule = RULE.exec(sentence)?.[1] ?? gettext("its name is not known");
    return fill(gettext("A rule of this site chose (%(rule)s)."), { rule });
  },
  close: () => gettext("The sample questions of several agents are about as near to the question."),
  none: () => gettext("These are the nearest, but their sample questions are too far from the question."),
};

/** One line that says what was chosen, with the `time` it took, and unfolds to why. */
export function routeView({ text, sentence, verdict, candidates, passedOver }, time = nothing) {
  if (verdict === null) return html`<span class="label">${gettext("Asked which agent fits")}</span> ${time}`;
  const known = verdict === "none" || candidates.length ? verdict : "none";
  return html`${time}
  <details class="route ${known}">
    <summary class="fold">${SUMMARIES[known](candidates)}</summary>
    <div class="why">
      <p class="small-title">${gettext("How this was routed")}</p>
      ${text ? html`<p class="asked" dir="auto">${text}</p>` : nothing}
      <p>${candidates.length ? EXPLANATIONS[known](sentence) : sentence}</p>
      ${passedOver && candidates.length
        ? html`<p>${fill(gettext("Passed over: %(agents)s"), { agents: passedOver })}</p>`
        : nothing}
      ${candidates.length ? candidateList(candidates) : nothing}
    </div>
  </details>`;
}

function candidateList(candidates) {
  return html`<ol class="candidates" aria-label=${gettext("Agents that were considered")}>
    ${candidates.map(
      ({ agent, score, matched }) => html`<li>
        <span class="agent">${agent}</span>
        <span class="score"><progress .value=${score} aria-hidden="true"></progress> ${percent(score)}</span>
        ${matched ? html`<span class="matched" dir="auto">${matched}</span>` : nothing}
      </li>`,
    )}
  </ol>
  <p>
    ${gettext("Each number is how likely the agent is the right one, next to its sample question that is nearest.")}
  </p>`;
}

/** `0.93` → `93 %`. */
export const percent = (score) =>
  score < 0.01 ? "< 1 %" : `${Math.round(score * 100).toLocaleString(language)} %`;
