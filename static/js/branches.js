/** `‹ 2/3 ›`: the other ways that a conversation went on from a query, each a session of its own. */

import { fill, gettext, language } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

/** `branches` are `[{session, seq, current}]` in the order they were made, `seq` their query's; nothing for a single one. */
export function branchSwitcher(branches) {
  if (!(branches?.length > 1)) return nothing;
  const place = branches.findIndex(({ current }) => current);
  const counts = { n: (place + 1).toLocaleString(language), all: branches.length.toLocaleString(language) };
  return html`<nav class="branches" aria-label=${gettext("Versions of this question")}>
    ${arrow(branches[place - 1], "‹", gettext("The version before"))}
    <span aria-label=${fill(gettext("Version %(n)s of %(all)s"), counts)} role="img">${counts.n}/${counts.all}</span>
    ${arrow(branches[place + 1], "›", gettext("The next version"))}
  </nav>`;
}

function arrow(branch, sign, label) {
  if (!branch) return html`<span class="icon-action" aria-hidden="true">${nothing}</span>`;
  return html`<a class="icon-action" href="/sessions/${branch.session}#m-${branch.seq}" aria-label=${label} title=${label}>${sign}</a>`;
}
