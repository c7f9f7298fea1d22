/** Parts of the composer that only show: what it says of limits and keys, its buttons, its banners. */

import { keyName } from "./keys.js";
import { fill, gettext, language, ngettext } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

/** From this part of a limit on it is told what is left. */
const NEAR = 0.8;
const encoder = new TextEncoder();

/** How many bytes `text` may still grow by; below 0 it is too long. A short one is not measured exactly. */
function bytesLeft(text, maxBytes) {
  const size = text.length * 3 < maxBytes * NEAR ? text.length : encoder.encode(text).length;
  return maxBytes - size;
}

/** What decides whether what a FixieComposer holds can be sent, and what is said of it. */
export function stateOf(composer, editing) {
  const { text, busy: running, closed, stopping = false, sending = false, waiting, maxBytes, maxEmbeds } = composer;
  const { items, uploading, failed } = composer.attachments;
  const left = bytesLeft(text, maxBytes);
  // All that is missing may be files that are on their way.
  const whole = Boolean((text.trim() || items.length) && left >= 0 && !failed && !closed && !sending);
  // A branch is a session of its own, where nothing is being answered.
  const busy = running && !editing;
  const ready = whole && !uploading;
  const files = items.length;
  return { text, running, busy, stopping, sending, waiting, whole, ready, left, maxBytes, maxEmbeds, files, uploading, failed };
}

/** The line below: the connection, or that something waits for its files; the quota; the most pressing of limits and keys. */
export function composerLine(state, { status, calm, allowance }) {
  const { waiting } = state;
  return html`<div class="composer-line">
    <span role="status" class=${calm || waiting ? "connection visually-hidden" : "connection"}>${waiting ? willBeSent() : status}</span>
    <span id="composer-quota" class="quota" role=${allowance.none ? "alert" : nothing}>${allowance.words}</span>
    <span id="composer-hint" class="hint">${hint(state)}</span>
  </div>`;
}

/** What there is to say below the field; of several things the most pressing. */
function hint(state) {
  const { text, busy, left, maxBytes, maxEmbeds, files, uploading, failed, waiting } = state;
  if (left < 0) return html`<strong role="alert">${tooLong(text, -left, maxBytes)}</strong>`;
  if (failed) return html`<strong>${gettext("Retry or remove the file that failed, then send.")}</strong>`;
  if (waiting) return willBeSent();
  if (uploading) return gettext("Can be sent when the files are there.");
  if (left < maxBytes * (1 - NEAR)) {
    const n = inCharacters(text, left, maxBytes);
    return fill(ngettext("About %(n)s character left", "About %(n)s characters left", n), { n: n.toLocaleString(language) });
  }
  if (files >= maxEmbeds * NEAR) {
    const n = maxEmbeds - files;
    return fill(ngettext("%(n)s more file fits", "%(n)s more files fit", n), { n });
  }
  return busy ? hintWhileBusy(text.trim() || files) : keys();
}

const willBeSent = () => gettext("Will be sent as soon as the files are there.");

const keys = () => html`<span class="keys">
  <kbd>Enter</kbd> ${gettext("sends")}, <kbd>${keyName("Shift")}</kbd>+<kbd>Enter</kbd> ${gettext("starts a new line")}
</span>`;

function hintWhileBusy(written) {
  if (!written) return html`<span class="keys"><kbd>Esc</kbd> ${gettext("stops")}</span>`;
  return html`${gettext("Will be asked when this answer is done.")}
    <span class="keys"><kbd>${keyName("Mod")}</kbd>+<kbd>${keyName("Shift")}</kbd>+<kbd>Enter</kbd> ${gettext("asks now")}</span>`;
}

/** Bytes of a text like this one as characters. */
const inCharacters = (text, bytes, maxBytes) => Math.ceil((bytes * text.length) / (maxBytes - bytesLeft(text, maxBytes)));

function tooLong(text, bytes, maxBytes) {
  const n = inCharacters(text, bytes, maxBytes);
  const words = ngettext("Too long by about %(n)s character.", "Too long by about %(n)s characters.", n);
  return fill(words, { n: n.toLocaleString(language) });
}

export function editBanner(onCancel) {
  return html`<div class="composer-banner">
    <p role="status">${gettext("Editing an earlier question – a branch is made")}</p>
    <button type="button" class="small" @click=${onCancel}>${gettext("Cancel")}</button>
  </div>`;
}

/** Files that were not taken: `[{name, problem}]`. */
export function refusedFiles(refused, onDismiss) {
  if (!refused.length) return nothing;
  return html`<div class="composer-banner refused-files">
    <ul role="alert">
      ${refused.map(({ name, problem }) => html`<li>${fill(gettext("%(name)s is not attached."), { name })} ${problem}</li>`)}
    </ul>
    <button type="button" class="remove" aria-label=${gettext("Dismiss")} @click=${onDismiss}>×</button>
  </div>`;
}

export function attachButton(onFiles) {
  const onChange = ({ target }) => {
    onFiles([...target.files]);
    target.value = "";
  };
  const onClick = ({ currentTarget }) => currentTarget.nextElementSibling.click();
  return html`<button type="button" class="attach" aria-label=${gettext("Attach files")} @click=${onClick}>${PAPERCLIP}</button>
    <input type="file" multiple hidden @change=${onChange} />`;
}

/** While an answer is written it can be stopped, and what is sent waits for its turn unless it is asked now. */
export function buttons({ running, busy, ready, stopping, sending, waiting }, { onStop, onInterrupt }) {
  return html`<span class="composer-buttons">
    ${running
      ? html`<button type="button" class="stop" aria-disabled=${stopping} @click=${onStop}>
          ${stopping ? gettext("Stopping…") : gettext("Stop")}
        </button>`
      : nothing}
    ${busy && ready
      ? html`<button type="button" title=${gettext("Stops the answer that is being written")} @click=${onInterrupt}>
          ${gettext("Ask now")}
        </button>`
      : nothing}
    <button type="submit" class="primary send" aria-label=${gettext("Send")} aria-disabled=${!ready} aria-busy=${sending || Boolean(waiting)}>${ARROW}</button>
  </span>`;
}

const icon = (d) => html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
  <path d=${d} fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" />
</svg>`;
const ARROW = icon("M12 19V5M5.5 11.5 12 5l6.5 6.5");
const PAPERCLIP = icon(
  "m20 11.5-8.3 8.3a5.3 5.3 0 0 1-7.5-7.5l8.6-8.6a3.5 3.5 0 0 1 5 5L9.3 17.2a1.8 1.8 0 0 1-2.5-2.5l7.8-7.8",
);

/** Lets a field grow with its text in browsers without `field-sizing: content`. */
export function grow(field) {
  if (CSS.supports("field-sizing", "content")) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}
