/** Sessions under the days on which they were last asked something, in the reader's own zone. */

import { gettext, language } from "./texts.js";

const DAY_MS = 24 * 3600 * 1000;

/** `[{name, rows}]` of rows, the last asked first: the same as `by_days` of `sessions_app/listing.py`. */
export function byDays(rows, now = new Date()) {
  const groups = [];
  for (const row of rows) {
    const name = nameOf(new Date(row.active), now);
    if (groups.at(-1)?.name !== name) groups.push({ name, rows: [] });
    groups.at(-1).rows.push(row);
  }
  return groups;
}

function nameOf(moment, now) {
  const age = Math.round((midnight(now) - midnight(moment)) / DAY_MS);
  if (age <= 0) return gettext("Today");
  if (age === 1) return gettext("Yesterday");
  if (age <= 7) return gettext("Previous 7 days");
  if (age <= 30) return gettext("Previous 30 days");
  return moment.toLocaleDateString(language, { month: "long", year: "numeric" });
}

const midnight = (moment) => new Date(moment.getFullYear(), moment.getMonth(), moment.getDate());
