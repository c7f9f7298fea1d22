/** Where the user writes: grows with its text, never loses any of it. */

import { Attachments } from "./attachments.js";
import { readableSize } from "./embeds.js";
import { LightElement } from "./light-element.js";
import { html, nothing, repeat } from "../vendor/lit.js";

const encoder = new TextEncoder();

/**
 * Fires `send` (detail: `{text, embeds}`) and `stop`. What is written survives a reload, under `draftKey`.
 *
 * `nextKey` is a function: the first key for a file that nothing in the session has.
 */
export class FixieComposer extends LightElement {
  static properties = {
    busy: { type: Boolean },
    stopping: { type: Boolean },
    closed: { type: Boolean },
    maxBytes: { type: Number },
    maxEmbeds: { type: Number },
    maxEmbedBytes: { type: Number },
    nextKey: { attribute: false },
    placeholder: {},
    draftKey: {},
    status: {},
    empty: { state: true },
    tooLong: { state: true },
  };

  constructor() {
    super();
    this.empty = true;
    this.tooLong = false;
  }

  connectedCallback() {
    super.connectedCallback();
    this.attachments ??= new Attachments(`${this.draftKey}:embeds`);
    this.attachments.addEventListener("change", () => this.requestUpdate());
  }

  render() {
    return html`
      <form class="composer" @submit=${this.#onSubmit}>
        ${this.attachments.items.length ? this.#chips() : nothing}
        <button type="button" class="attach" aria-label="Attach files" @click=${this.#onAttach}>${PAPERCLIP}</button>
        <input type="file" multiple hidden @change=${this.#onFiles} />
        <label class="visually-hidden" for="composer-text">Message</label>
        <textarea
          id="composer-text"
          rows="1"
          dir="auto"
          placeholder=${this.placeholder}
          enterkeyhint="send"
          autocomplete="off"
          aria-describedby="composer-hint"
          aria-invalid=${this.tooLong}
          @input=${this.#onInput}
          @keydown=${this.#onKeyDown}
        ></textarea>
        ${this.busy ? this.#stopButton() : nothing}
        <button type="submit" class="primary" aria-disabled=${!this.#ready}>Send</button>
      </form>
      <div class="composer-line">
        <span role="status" class="connection">${this.status}</span>
        <span id="composer-hint" class="hint">${this.#hint()}</span>
      </div>
    `;
  }

  firstUpdated() {
    const draft = sessionStorage.getItem(this.draftKey);
    if (draft) this.fill(draft);
  }

  focus() {
    this.#textarea.focus({ preventScroll: true });
  }

  /** Puts `text` before what is written already, and its `embeds` (`{key: {id, …}}`) before the files. */
  fill(text, embeds = {}) {
    this.#textarea.value = [text, this.#textarea.value].filter(Boolean).join("\n");
    this.attachments.restore(embeds);
    this.#onInput();
  }

  get #textarea() {
    return this.renderRoot.querySelector("textarea");
  }

  get #ready() {
    const { items, uploading, failed } = this.attachments;
    return !(this.empty && !items.length) && !this.tooLong && !this.closed && !uploading && !failed;
  }

  #chips() {
    return html`<ul class="chips" aria-label="Files to send">
      ${repeat(this.attachments.items, ({ key }) => key, (item) => html`<li class="chip">${this.#chip(item)}</li>`)}
    </ul>`;
  }

  #chip({ key, name, size, id, progress, error }) {
    return html`<span class="embed-key">#${key}</span> <span class="embed-name">${name}</span>
      ${error
        ? html`<span class="failed" role="alert">${error}</span>`
        : html`<span class="embed-size">${id ? readableSize(size) : `${Math.floor(progress * 100)} %`}</span>`}
      ${id || error ? nothing : html`<progress .value=${progress} aria-label=${`Uploading ${name}`}></progress>`}
      <button type="button" class="remove" aria-label=${`Remove ${name}`} @click=${() => this.#onRemove(key)}>×</button>`;
  }

  #stopButton() {
    return html`<button type="button" class="stop" aria-disabled=${this.stopping} @click=${this.#onStop}>
      ${this.stopping ? "Stopping…" : "Stop"}
    </button>`;
  }

  #hint() {
    const limit = Math.floor(this.maxBytes / 1024);
    if (this.attachments.failed) return html`<strong>Remove the file that failed, then send.</strong>`;
    if (this.tooLong) return html`<strong role="alert">Too long: at most ${limit} KiB.</strong>`;
    return this.busy
      ? html`<kbd>Esc</kbd> stops`
      : html`<kbd>Enter</kbd> sends, <kbd>Shift</kbd>+<kbd>Enter</kbd> starts a new line`;
  }

  #onInput() {
    const textarea = this.#textarea;
    const { value } = textarea;
    this.empty = !value.trim();
    this.tooLong = value.length > this.maxBytes / 4 && encoder.encode(value).length > this.maxBytes;
    this.#keepDraft(value);
    grow(textarea);
  }

  #keepDraft(value) {
    try {
      if (value) sessionStorage.setItem(this.draftKey, value);
      else sessionStorage.removeItem(this.draftKey);
    } catch {
      // A full storage costs only the survival of a reload.
    }
  }

  #onKeyDown(event) {
    // Enter also ends the composition of a Japanese or Chinese word; that one is not ours.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    this.#send();
  }

  #onSubmit(event) {
    event.preventDefault();
    this.#send();
    this.focus();
  }

  #send() {
    if (!this.#ready) return;
    const embeds = this.attachments.take();
    // A message has a text: files alone are named in it.
    const text = this.empty ? Object.keys(embeds).map((key) => `#${key}`).join(" ") : this.#textarea.value;
    this.#textarea.value = "";
    this.#onInput();
    this.dispatchEvent(new CustomEvent("send", { detail: { text, embeds } }));
  }

  #onAttach() {
    this.renderRoot.querySelector("input[type=file]").click();
  }

  #onFiles({ target }) {
    const { maxEmbeds, maxEmbedBytes: maxBytes } = this;
    this.attachments.add([...target.files], { nextKey: this.nextKey(), maxEmbeds, maxBytes });
    target.value = "";
    this.focus();
  }

  #onRemove(key) {
    this.attachments.remove(key);
    this.focus();
  }

  #onStop() {
    if (!this.stopping) this.dispatchEvent(new CustomEvent("stop"));
    this.focus();
  }
}

const PAPERCLIP = html`<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
  <path
    d="m20 11.5-8.3 8.3a5.3 5.3 0 0 1-7.5-7.5l8.6-8.6a3.5 3.5 0 0 1 5 5L9.3 17.2a1.8 1.8 0 0 1-2.5-2.5l7.8-7.8"
    fill="none"
    stroke="currentColor"
    stroke-width="1.8"
    stroke-linecap="round"
    stroke-linejoin="round"
  />
</svg>`;

/** For browsers without `field-sizing: content`. */
function grow(textarea) {
  if (CSS.supports("field-sizing", "content")) return;
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
}

customElements.define("fixie-composer", FixieComposer);
