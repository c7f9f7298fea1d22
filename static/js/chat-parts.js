/** Parts of the conversation that only show: how it begins and ends, its connection, what is not sent yet. */

import { explain } from "./errors.js";
import { query } from "./fixie-turn.js";
import { fill, gettext } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

const STATES = {
  connecting: () => gettext("Connecting…"),
  online: () => gettext("Connected"),
  waiting: () => gettext("Connection lost. Trying again…"),
  offline: () => gettext("You are offline. What you send is kept until you are back."),
  signed_out: () => gettext("You are signed out."),
  gone: () => gettext("This session no longer exists."),
};
/** What ends a conversation on a page, and the way on. */
const ENDS = { signed_out: { code: "unauthenticated" }, gone: { code: "not_found", details: { field: "session" } } };

/** Words for the state of a SessionSocket. */
export const connection = (state) => STATES[state === "waiting" && !navigator.onLine ? "offline" : state]();

/** Whether nothing more can be asked in this state of the socket. */
export const isOver = (state) => state in ENDS;

/** Why nothing more can be asked in this state, and where to go; nothing while it can. */
export function end(state) {
  if (!isOver(state)) return nothing;
  const { text, link } = explain(ENDS[state]);
  const { href, label } = link ?? { href: "/", label: gettext("New conversation") };
  return html`<p class="problem" role="alert">${text} <a href=${href}>${label}</a></p>`;
}

/** What stands in a session in which nothing was asked; `agent` is the one that it is with, or null. */
export function beginning(agent) {
  const what = agent
    ? fill(gettext("%(agent)s answers here."), { agent })
    : gettext("Ask anything: Fixie finds the agents that can help.");
  const how = agent
    ? gettext("Begin with @owner/handle to ask another agent.")
    : gettext("Begin with @owner/handle to ask one that you choose.");
  return html`<p class="nothing">${what} ${how}</p>`;
}

export function earlierButton(loading, onEarlier) {
  return html`<p class="earlier">
    <button type="button" class="small" aria-disabled=${loading} @click=${onEarlier}>
      ${loading ? gettext("Loading…") : gettext("Show earlier messages")}
    </button>
  </p>`;
}

export function latestButton(onLatest) {
  return html`<button type="button" class="latest small" @click=${onLatest}>
    ${gettext("Latest")} <span aria-hidden="true">↓</span>
  </button>`;
}

/** A question of the outbox: on its way, or refused. */
export function unsent({ text, embeds, error }, { onResend, onEdit }) {
  if (!error) {
    return html`${query({ text, embeds })}
      <p class="byline"><span class="state">${gettext("Sending…")}</span></p>`;
  }
  const { text: told, words } = explain(error);
  return html`${query({ text, embeds })}
    <div class="refused" role="alert">
      <p>${told}${words && words !== told ? html` <span dir="auto">${words}</span>` : nothing}</p>
      <button type="button" class="small" @click=${onResend}>${gettext("Try again")}</button>
      <button type="button" class="small" @click=${onEdit}>${gettext("Edit")}</button>
    </div>`;
}
