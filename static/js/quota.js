/** What may still be asked today, in words: told before it is used up, and what to do when it is. */

import { call } from "./session-api.js";
import { fill, gettext, language, ngettext } from "./texts.js";

/** Below this part of a limit it is told what is left. */
const LOW = 0.2;
const STALE_MS = 5 * 60 * 1000;

const UNLIMITED = { limit: null, remaining: null };

/** Starts from what the page was delivered with, and counts down by itself. */
export class Quota {
  #data;
  #onChange;
  #read = Date.now();

  constructor(data, onChange) {
    this.#data = data ?? { queries: UNLIMITED, tokens: UNLIMITED, credits: 0 };
    this.#onChange = onChange;
  }

  /** Whether nothing more can be asked today. */
  get none() {
    const { queries, tokens, credits } = this.#data;
    return tokens.remaining === 0 || (queries.remaining === 0 && credits <= 0);
  }

  /** Another question was asked. */
  spend() {
    const { queries, credits } = this.#data;
    if (queries.remaining === null) return;
    const remaining = Math.max(0, queries.remaining - 1);
    this.#set({
      ...this.#data,
      queries: { ...queries, remaining },
      credits: queries.remaining ? credits : Math.max(0, credits - 1),
    });
  }

  /** Asks the site; where it does not answer, all stays as it was. */
  async refresh() {
    this.#read = Date.now();
    try {
      this.#set(await call("GET", "/api/users/me/quota"));
    } catch {
      // It is asked again with the next question.
    }
  }

  /** Asks the site if what is known is old, or of a day that is over. */
  async refreshIfStale() {
    if (Date.now() - this.#read > STALE_MS || new Date(this.#data.queries.reset) < Date.now()) await this.refresh();
  }

  /** A sentence; empty where there is enough left. */
  get words() {
    const { queries, tokens, credits } = this.#data;
    const time = new Date(queries.reset).toLocaleTimeString(language, { hour: "numeric", minute: "2-digit" });
    if (tokens.remaining === 0) {
      return fill(gettext("Today's share of language models is used up. At %(time)s there is a new one; your text stays here."), { time });
    }
    if (queries.remaining === 0) return usedUp(credits, time);
    if (isLow(queries)) {
      const n = queries.remaining;
      return fill(ngettext("%(n)s question left until %(time)s", "%(n)s questions left until %(time)s", n), { n, time });
    }
    if (!isLow(tokens)) return "";
    const part = (tokens.remaining / tokens.limit).toLocaleString(language, { style: "percent", maximumSignificantDigits: 2 });
    return fill(gettext("%(part)s of today's share of language models left, until %(time)s"), { part, time });
  }

  #set(data) {
    this.#data = data;
    this.#onChange();
  }
}

const isLow = ({ limit, remaining }) => remaining !== null && remaining < limit * LOW;

function usedUp(n, time) {
  if (n <= 0) {
    return fill(gettext("Today's questions are used up. At %(time)s there are new ones; your text stays here."), { time });
  }
  const words = ngettext(
    "Today's questions are used up, but you have %(n)s credit: a question takes one.",
    "Today's questions are used up, but you have %(n)s credits: a question takes one.",
    n,
  );
  return fill(words, { n });
}
