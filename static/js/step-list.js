/** The steps of a turn as a list, in which the turns of other agents are lists again. */

import { embedList } from "./embeds.js";
import { routeView } from "./route.js";
import { describe } from "./steps.js";
import { html, nothing, repeat } from "../vendor/lit.js";

const STATES = {
  queued: "Waiting for its turn…",
  in_progress: "Working…",
  failed: "Failed",
  canceled: "Stopped",
};

/** How a turn stands, where there is something to say: `completed` says nothing unless `done` has words for it. */
export function stateOf(status, done) {
  const words = STATES[status] ?? done;
  return words ? html`<span class="state ${status}">${words}</span>` : nothing;
}

/** `entries` are those of `steps.js`; `name` is for who cannot see the list. */
export function stepList(entries, name) {
  return html`<ol class="step-list" aria-label=${name}>
    ${repeat(entries, ({ key }) => key, (entry) => html`<li class="step ${kindOf(entry)}">${entryView(entry)}</li>`)}
  </ol>`;
}

const kindOf = ({ step, route }) => (route ? "routing" : (step?.kind ?? "agent_call"));

function entryView({ step, route, child }) {
  if (child) return html`<fixie-child .turn=${child}></fixie-child>`;
  if (route) return routeView(route);
  const { label, text } = describe(step);
  return html`<span class="label">${label}</span>
    ${text ? html`<div class="text" dir="auto">${text}</div>` : nothing} ${embedList(step.embeds)}`;
}
