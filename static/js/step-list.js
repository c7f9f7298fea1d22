/** The steps of a turn as a timeline, in which the turns of other agents are timelines again. */

import "./fixie-clock.js";
import "./fixie-detail.js";
import { durationText } from "./durations.js";
import { embedList } from "./embeds.js";
import { routeView } from "./route.js";
import { describe, progressOf } from "./steps.js";
import { fill, gettext, language } from "./texts.js";
import { html, nothing, repeat } from "../vendor/lit.js";

const STATES = {
  queued: () => gettext("Waiting for its turn…"),
  in_progress: () => gettext("Working…"),
  failed: () => gettext("Failed"),
  canceled: () => gettext("Stopped"),
  withdrawn: () => gettext("Withdrawn"),
};

/** How a turn stands, where there is something to say: `completed` says nothing unless `done` has words for it. */
export function stateOf(status, done) {
  const words = STATES[status]?.() ?? done;
  return words ? html`<span class="state ${status}">${words}</span>` : nothing;
}

/** `entries` are those of `steps.js`; `name` is for who cannot see the list; `busy` where the last may be going on. */
export function stepList(entries, name, busy = false) {
  return html`<ol class="step-list" aria-label=${name}>
    ${repeat(
      entries,
      ({ key }) => key,
      (entry) => html`<li class="step ${kindOf(entry)}">${entryView(entry, busy)}</li>`,
    )}
  </ol>`;
}

const kindOf = ({ step, route }) => (route ? "routing" : (step?.kind ?? "agent_call"));

function entryView(entry, busy) {
  const { step, output, route, child } = entry;
  if (child) return html`<fixie-child .turn=${child}></fixie-child>`;
  if (route) return routeView(route, timeOf(entry, busy));
  const progress = progressOf(step);
  if (progress) return progressView(progress, entry, busy);
  const { label, text } = describe(step);
  return html`<span class="label">${label}</span> ${timeOf(entry, busy)} ${detail(text)} ${embedList(step.embeds)}
  ${output ? outputView(output) : nothing}`;
}

function outputView(output) {
  const { label, text } = describe(output);
  return html`<span class="label outcome">${label}</span> ${detail(text)} ${embedList(output.embeds)}`;
}

function progressView({ percent, text }, entry, busy) {
  const done = (percent / 100).toLocaleString(language, { style: "percent" });
  return html`<span class="label">${fill(gettext("Progress: %(done)s"), { done })}</span>
    <progress max="100" .value=${percent} aria-hidden="true"></progress> ${timeOf(entry, busy)}
    ${text ? html`<div class="text" dir="auto">${text}</div>` : nothing}`;
}

const detail = (text) => (text ? html`<fixie-detail .text=${text}></fixie-detail>` : nothing);

/** How long it took; while it goes on, how long so far. */
function timeOf({ milliseconds, since }, busy) {
  if (since && busy) return html`<fixie-clock class="time" since=${since}></fixie-clock>`;
  const words = durationText(milliseconds);
  return words ? html`<span class="time">${words}</span>` : nothing;
}
