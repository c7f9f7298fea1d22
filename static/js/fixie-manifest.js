/** What is at an address, as the site reads it now: a manifest, or what is wrong with it and where. */

import { html, nothing } from "../vendor/lit.js";
import { LightElement } from "./light-element.js";
import { post } from "./session-api.js";
import { fill, gettext, ngettext } from "./texts.js";

const KINDS = {
  code_shot: () => gettext("A Code Shot: the site's language model works by its few-shots, and calls its Funcs."),
  query_http: () => gettext("It answers by itself: questions are sent to its address."),
  agentscope: () => gettext("An AgentApp of AgentScope Runtime: questions are sent to its /process."),
};
const SHOTS_SHOWN = 3;

class FixieManifest extends LightElement {
  static properties = { state: { state: true } };

  #asked = 0;

  constructor() {
    super();
    this.state = { phase: "empty" };
  }

  /** What is there lets nobody in with a token for no agent, or for another one. */
  get refused() {
    return Boolean(this.state.found?.refused);
  }

  /** Looks at `url` as the agent `owner`/`handle`; an answer to an earlier look is not shown any more. */
  async look(url, { owner, handle }) {
    const number = ++this.#asked;
    if (!/^https?:\/\/[^/]/i.test(url)) {
      this.state = url ? { ...this.state, phase: "typing" } : { phase: "empty" };
      return;
    }
    this.state = { ...this.state, phase: "looking" };
    const state = await post("/api/preview", { url, owner, handle }).then(
      (found) => ({ phase: "found", found }),
      (error) => ({ phase: "refused", message: error.message }),
    );
    if (number === this.#asked) this.state = state;
  }

  /** Tells what has come of the look in a line, for whoever shows it at the address. */
  updated() {
    this.dispatchEvent(new CustomEvent("said", { detail: this.#said() }));
  }

  render() {
    const { phase, found } = this.state;
    return html`
      <div class="manifest" aria-busy=${phase === "looking"}>
        ${found ? this.#found(found) : html`<p class="help">${gettext("What it says of itself is shown here.")}</p>`}
      </div>
    `;
  }

  #said() {
    const { phase, message, found } = this.state;
    if (phase === "empty") return "";
    if (phase === "typing") return gettext("An address begins with http:// or https://.");
    if (phase === "looking") return gettext("Reading…");
    if (phase === "refused") return message;
    if (!found.error) return gettext("This can be registered.");
    if (found.refused) {
      const why = gettext("It may answer only under its own name: give the owner and the handle that it runs with.");
      return `${found.error.message} ${why}`;
    }
    const count = found.problems.length;
    if (!count) return found.error.message;
    const words = ngettext("%(n)s problem, shown at its line.", "%(n)s problems, shown at their lines.", count);
    return fill(words, { n: count });
  }

  #found(found) {
    const loose = found.problems.filter(({ line, few_shot }) => line === null && few_shot === null);
    return html`
      ${loose.map(({ message }) => html`<p class="failure">${message}</p>`)}
      ${found.transport ? html`<p>${(KINDS[found.transport] ?? (() => found.transport))()}</p>` : nothing}
      ${found.manifest?.base_prompt
        ? html`<h3 class="small-title">${gettext("Base prompt")}</h3>
            <p class="words" dir="auto">${found.manifest.base_prompt}</p>`
        : nothing}
      ${names(gettext("Funcs"), found.funcs)} ${names(gettext("Agents it asks"), found.agents)}
      ${this.#queries(found.queries)} ${this.#corpora(found.manifest?.corpora ?? [])} ${this.#fewShots(found)}
      ${found.source ? this.#source(found) : nothing}
    `;
  }

  #queries(queries) {
    if (!queries.length) return nothing;
    return html`<h3 class="small-title">${gettext("It can be asked")}</h3>
      <ul>
        ${queries.slice(0, 5).map((text) => html`<li dir="auto">${text}</li>`)}
      </ul>`;
  }

  #corpora(corpora) {
    if (!corpora.length) return nothing;
    return html`<h3 class="small-title">${gettext("It reads")}</h3>
      <ul>
        ${corpora.map(({ urls, func }) => html`<li class="address">${func ? `Func[${func}]` : urls.join(", ")}</li>`)}
      </ul>`;
  }

  #fewShots({ few_shots: shots, problems }) {
    if (!shots.length) return nothing;
    const wrong = (place) => problems.filter(({ few_shot }) => few_shot === place + 1);
    const shown = shots.map((text, place) => ({ text, place, problems: wrong(place) }));
    const bad = shown.filter((shot) => shot.problems.length);
    const some = bad.length ? bad : shown.slice(0, SHOTS_SHOWN);
    return html`<h3 class="small-title">
        ${fill(ngettext("%(n)s few-shot", "%(n)s few-shots", shots.length), { n: shots.length })}
      </h3>
      ${some.map((shot) =>
        lines({
          text: shot.text,
          label: fill(gettext("Few-shot %(n)s"), { n: shot.place + 1 }),
          problems: shot.problems.map(({ message, few_shot_line: line }) => ({ message, line })),
        }),
      )}`;
  }

  #source({ source, problems }) {
    // Those of few-shots are shown there; in JSON a whole few-shot is one line.
    const marked = problems.filter(({ line, few_shot }) => line !== null && few_shot === null);
    return html`<details class="more" ?open=${marked.length > 0}>
      <summary>${gettext("The manifest as it came")}</summary>
      ${lines({ text: source.text, label: gettext("The manifest"), problems: marked })}
      ${source.cut ? html`<p class="muted">${gettext("This is only its beginning.")}</p>` : nothing}
    </details>`;
  }
}

const names = (title, found) =>
  found.length
    ? html`<h3 class="small-title">${title}</h3>
        <p>${found.map((name) => html`<code>${name}</code> `)}</p>`
    : nothing;

/** A text with the numbers of its lines, and under a line what is wrong with it. */
function lines({ text, label, problems }) {
  const wrong = grouped(problems);
  return html`<ol class="lines" tabindex="0" aria-label=${label}>
    ${text.trimEnd().split("\n").map((line, place) => {
      const found = wrong.get(place + 1) ?? [];
      return html`<li class=${found.length ? "wrong" : ""}>
        <code dir="auto">${line || "\u200b"}</code>
        ${found.map(({ message }) => html`<p class="line-problem">${message}</p>`)}
      </li>`;
    })}
  </ol>`;
}

function grouped(problems) {
  const found = new Map();
  for (const problem of problems) found.set(problem.line, [...(found.get(problem.line) ?? []), problem]);
  return found;
}

customElements.define("fixie-manifest", FixieManifest);
