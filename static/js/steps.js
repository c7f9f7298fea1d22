/** What a turn did on the way, in words: thoughts, calls, the Router's choices, and the agents it asked. Pure. */

import { between } from "./durations.js";
import { routeOf } from "./route.js";
import { fill, gettext } from "./texts.js";

const FUNC_CALL = /^Ask Func\[([^\]]*)\]:\s*/;
const FUNC_OUTPUT = /^Func\[([^\]]*)\] says:\s*/;
const AGENT_CALL = /^Ask Agent\[([^\]]*)\]:\s*/;
const AGENT_OUTPUT = /^Agent\[[^\]]*\] says:\s*/;
const THOUGHT = /^Thought:\s*()/;
/** The Func by which the Fixie agent asks the Router. */
const ROUTER = "fixie_route";
/** How the platform keeps what an agent tells of its progress. */
const PROGRESS = /^(\d{1,3}) %\s*/;
/** What programs send to terminals: colours, places of the cursor, titles of windows; and other control characters. */
const TERMINAL = /\x1b\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]?|[\0-\x08\x0b-\x1f\x7f]/g;

/** What to say of a step of each kind, and how the format of Code Shot agents begins its text. */
const KINDS = {
  thought: { begins: THOUGHT, label: () => gettext("Thought"), unnamed: () => gettext("Thought") },
  func_call: {
    begins: FUNC_CALL,
    label: (name) => fill(gettext("Called %(name)s"), { name }),
    unnamed: () => gettext("Called a function"),
  },
  func_output: {
    begins: FUNC_OUTPUT,
    label: (name) => fill(gettext("%(name)s answered"), { name }),
    unnamed: () => gettext("Function answered"),
  },
};

/** `{label, text, name}` of a step: its text without the words that only say what kind it is. */
export function describe({ kind, text }) {
  const { begins, label, unnamed } = KINDS[kind];
  const found = begins.exec(text);
  const said = (found ? text.slice(found[0].length) : text).replace(TERMINAL, "");
  return { label: found ? label(found[1]) : unnamed(), text: said, name: found?.[1] || null };
}

/** `{percent, text}` of a step that tells how far the agent is, or null. */
export function progressOf({ kind, text }) {
  const said = describe({ kind, text }).text;
  const found = kind === "thought" && PROGRESS.exec(said);
  return found ? { percent: Math.min(Number(found[1]), 100), text: said.slice(found[0].length) } : null;
}

/** `{agent, text}` of what an agent asked of another: `Ask Agent[fixie/dice]: roll 3d6`. */
export function askedOf({ text }) {
  const found = AGENT_CALL.exec(text);
  return found ? { agent: found[1], text: text.slice(found[0].length) } : { agent: null, text };
}

/** What a turn answers, as it is to be read: another agent's answer stands in its message after who said it. */
export function answerOf({ answer, text }) {
  if (!answer || answer.kind === "error") return text;
  return answer.kind === "agent_output" ? answer.text.replace(AGENT_OUTPUT, "") : answer.text;
}

/** What went wrong, in words, or null. */
export const failureOf = ({ answer, error }) => (answer?.kind === "error" ? answer.text : (error?.message ?? null));

/**
 * What a turn did, in order: `{key, step, output?}`, `{key, route}` (see `route.js`) or `{key, child}` (a turn), each
 * with the `milliseconds` that it took (null where not known) or `since` when it has been going on (else null).
 *
 * A call and what it gave are one, and so are a question to the Router and its answer.
 */
export function entriesOf(turn) {
  const entries = [];
  let before = turn.started ?? turn.question?.created ?? null;
  for (const step of turn.steps) {
    const call = step.kind === "func_output" ? openCall(entries, describe(step).name) : undefined;
    if (call) Object.assign(call, answered(call, step));
    else entries.push(begun(step, before));
    before = step.created;
  }
  entries.push(...turn.children.map((child) => ({ key: child.run, child })));
  return entries.sort((one, other) => placeOf(one) - placeOf(other));
}

/** The last call of this name that has no answer yet; without a name only one that has none either. */
const openCall = (entries, name) =>
  entries.findLast(({ step, output }) => step.kind === "func_call" && !output && describe(step).name === name);

function begun(step, before) {
  const entry = { key: step.seq, step, milliseconds: null, since: null };
  if (step.kind === "func_call") return { ...entry, since: step.created, ...routed(step, null) };
  return { ...entry, milliseconds: between(before, step.created) };
}

const answered = ({ step }, output) => ({
  output,
  since: null,
  milliseconds: between(step.created, output.created),
  ...routed(step, describe(output).text),
});

function routed(step, words) {
  const { name, text } = describe(step);
  return name === ROUTER ? { route: routeOf(text, words) } : {};
}

/** The Router's choices in a turn, in order. */
export const routesOf = (turn) => entriesOf(turn).flatMap(({ route }) => route ?? []);

const placeOf = ({ step, child }) => step?.seq ?? child.query ?? Infinity;
