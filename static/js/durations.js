/** Times and amounts in the reader's language: `1.2 s`, `3 min 5 s`, `1,204 tokens`. Pure. */

import { fill, gettext, language, ngettext } from "./texts.js";

/** Shorter than this, in milliseconds, nothing is said: it says nothing about the agent. */
const SHORTEST_MS = 50;

/** `between("…T12:00:00Z", "…T12:00:01.2Z")` → 1200, in milliseconds; null where one is not known. */
export function between(start, end) {
  const length = Date.parse(end) - Date.parse(start);
  return length >= 0 ? length : null;
}

/** Milliseconds in words, or "" where there is nothing to say. */
export function durationText(milliseconds) {
  if (milliseconds === null || milliseconds < SHORTEST_MS) return "";
  const seconds = milliseconds / 1000;
  if (seconds >= 59.5) return minutes(Math.round(seconds));
  const digits = seconds < 10 ? 1 : 0;
  const n = seconds.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return fill(gettext("%(n)s s"), { n });
}

function minutes(seconds) {
  const values = { minutes: Math.floor(seconds / 60).toLocaleString(language), seconds: seconds % 60 };
  return values.seconds ? fill(gettext("%(minutes)s min %(seconds)s s"), values) : fill(gettext("%(minutes)s min"), values);
}

export const tokensText = (count) =>
  fill(ngettext("%(n)s token", "%(n)s tokens", count), { n: count.toLocaleString(language) });

/** How long a turn took in all: from when it began to when it was over. */
export const lengthOf = ({ started, finished }) => between(started, finished);
