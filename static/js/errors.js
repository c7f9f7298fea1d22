/** What went wrong and what to do about it, in two short sentences of the reader's language. Pure. */

import { fill, gettext, language } from "./texts.js";

/** What is used up, by `details.which` of `quota_exceeded`. */
const USED_UP = {
  queries: () => gettext("Your queries are used up for today"),
  tokens: () => gettext("Your tokens of language models are used up for today"),
  agent_queries: () => gettext("The queries that this agent answers in a day are used up"),
  agent_tokens: () => gettext("The tokens that this agent may use in a day are used up"),
};

/** What is not there, by `details.field` of `not_found`. */
const GONE = {
  session: () => [gettext("This conversation no longer exists."), gettext("Begin a new one.")],
  agent: () => [
    gettext("There is no such agent, or it is not for you."),
    gettext("Look at its name again, or choose another one."),
  ],
};

const TRY_AGAIN = () => gettext("Try again in a moment; if it stays so, ask someone else.");

/** By code: `(details, agent) → [what happened, what to do]`. */
const WORDS = {
  quota_exceeded: (details) => [usedUp(details), again(details)],
  rate_limited: (details, agent) => [
    agent
      ? fill(gettext("%(agent)s is asked too often at the moment."), { agent })
      : gettext("That was too much in too short a time."),
    again(details),
  ],
  session_busy: ({ waiting }) => [
    waiting
      ? fill(gettext("%(n)s queries are waiting here already."), { n: waiting.toLocaleString(language) })
      : gettext("An answer is still being written here."),
    gettext("Wait for it, or stop it."),
  ],
  payload_too_large: ({ limit }) => [
    limit
      ? fill(gettext("That is too large: %(limit)s bytes are allowed."), { limit: limit.toLocaleString(language) })
      : gettext("That is too large."),
    gettext("Make it shorter, or attach it as a file."),
  ],
  agent_unreachable: (_, agent) => [named(gettext("%(agent)s could not be reached."), agent), TRY_AGAIN()],
  agent_timeout: (_, agent) => [
    named(gettext("%(agent)s took too long."), agent),
    gettext("Ask for less at once, or ask someone else."),
  ],
  agent_invalid_response: (_, agent) => [
    named(gettext("%(agent)s answered with something that cannot be read."), agent),
    gettext("Ask someone else; its owner has to mend it."),
  ],
  agent_error: (_, agent) => [
    named(gettext("%(agent)s reported a problem."), agent),
    gettext("Change your question, try again, or ask someone else."),
  ],
  agent_switched_off: ({ agent: off }, agent) => [
    named(gettext("%(agent)s is switched off."), off ?? agent),
    gettext("Ask someone else."),
  ],
  model_unavailable: () => [
    gettext("The language model is not available at the moment."),
    gettext("Try again in a few minutes."),
  ],
  not_found: ({ field }) => GONE[field]?.(),
  unauthenticated: () => [gettext("You are signed out."), gettext("Sign in and come back; what you wrote is kept.")],
  unavailable: () => [gettext("The site is busy or away for a moment."), gettext("Try again shortly.")],
  unreachable: () => [gettext("The site could not be reached."), gettext("Try again.")],
  internal: () => [gettext("Something went wrong on our side."), gettext("It has been logged. Try again.")],
};

/**
 * `{text, what, todo, words, link}` of an error `{code, message, details}`; `agent` is whom it is about, if anybody.
 *
 * `text` is what happened and what to do; of a code that is not known here it is the message. `words` are the message
 * where it says more than `what`: an agent's own, or a reason. `link` is `{href, label}` of what helps, or null.
 */
export function explain({ code, message = "", details }, agent = null) {
  const words = WORDS[code]?.(details ?? {}, agent);
  if (!words) return { text: message, what: message, todo: "", words: "", link: null };
  const [what, todo] = words;
  return { text: `${what} ${todo}`, what, todo, words: TELLING.has(code) && message !== what ? message : "", link: linkOf(code) };
}

/** Codes whose message says more than the code. */
const TELLING = new Set(["agent_error", "agent_unreachable", "agent_invalid_response", "agent_timeout"]);

function linkOf(code) {
  if (code !== "unauthenticated") return null;
  const next = encodeURIComponent(`${location.pathname}${location.search}${location.hash}`);
  return { href: `/accounts/login/?next=${next}`, label: gettext("Sign in") };
}

const named = (text, agent) => fill(text, { agent: agent ?? gettext("The agent") });

function usedUp({ which, used, limit }) {
  const what = (USED_UP[which] ?? USED_UP.queries)();
  if (limit === undefined) return `${what}.`;
  const counts = { used: Number(used).toLocaleString(language), limit: Number(limit).toLocaleString(language) };
  return `${what} ${fill(gettext("(%(used)s of %(limit)s)."), counts)}`;
}

/** When it may be tried again, as exactly as is known. */
function again({ resets_at: resets, retry_after: seconds }) {
  if (seconds !== undefined && seconds <= 120) {
    return fill(gettext("Try again in %(n)s s."), { n: Math.ceil(seconds).toLocaleString(language) });
  }
  const moment = new Date(resets ?? Date.now() + seconds * 1000);
  if (Number.isNaN(moment.getTime())) return gettext("Try again later.");
  const time = moment.toLocaleString(language, { weekday: "long", hour: "numeric", minute: "2-digit" });
  return fill(gettext("You can go on on %(time)s."), { time });
}
