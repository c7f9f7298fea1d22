/** What a turn did on the way, in words: thoughts, calls, the Router's choices, and the agents it asked. Pure. */

import { routeOf } from "./route.js";

const FUNC_CALL = /^Ask Func\[([^\]]*)\]:\s*/;
const FUNC_OUTPUT = /^Func\[([^\]]*)\] says:\s*/;
const AGENT_CALL = /^Ask Agent\[([^\]]*)\]:\s*/;
const AGENT_OUTPUT = /^Agent\[[^\]]*\] says:\s*/;
const THOUGHT = /^Thought:\s*()/;
/** The Func by which the Fixie agent asks the Router. */
const ROUTER = "fixie_route";

/** What to say of a step of each kind, and how the format of Code Shot agents begins its text. */
const KINDS = {
  thought: { begins: THOUGHT, label: () => "Thought", unnamed: "Thought" },
  func_call: { begins: FUNC_CALL, label: (name) => `Called ${name}`, unnamed: "Called a function" },
  func_output: { begins: FUNC_OUTPUT, label: (name) => `${name} answered`, unnamed: "Function answered" },
};

/** `{label, text}` of a step: its text without the words that only say what kind it is. */
export function describe({ kind, text }) {
  const { begins, label, unnamed } = KINDS[kind];
  const found = begins.exec(text);
  if (!found) return { label: unnamed, text };
  return { label: label(found[1]), text: text.slice(found[0].length) };
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
 * What a turn did, in order: `{key, step}`, `{key, route}` (see `route.js`) or `{key, child}` (a turn).
 *
 * A question to the Router and its answer are one.
 */
export function entriesOf({ steps, children }) {
  const entries = [];
  for (const step of steps) {
    const last = entries.at(-1);
    if (routed(step, "func_output", FUNC_OUTPUT) && last?.asked) {
      entries[entries.length - 1] = { ...last, asked: false, route: routeOf(textOf(last.step), textOf(step)) };
    } else if (routed(step, "func_call", FUNC_CALL)) {
      entries.push({ key: step.seq, step, asked: true, route: routeOf(textOf(step), null) });
    } else {
      entries.push({ key: step.seq, step });
    }
  }
  entries.push(...children.map((child) => ({ key: child.run, child })));
  return entries.sort((one, other) => placeOf(one) - placeOf(other));
}

/** The Router's choices in a turn, in order. */
export const routesOf = (turn) => entriesOf(turn).flatMap(({ route }) => route ?? []);

const placeOf = ({ step, child }) => step?.seq ?? child.query ?? Infinity;

const textOf = (step) => describe(step).text;

const routed = ({ kind, text }, ofKind, begins) => kind === ofKind && begins.exec(text)?.[1] === ROUTER;
