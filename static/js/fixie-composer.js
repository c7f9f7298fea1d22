/** Where the user writes: grows with its text, never loses any of it. */

import { LightElement } from "./light-element.js";
import { html, nothing } from "../vendor/lit.js";

const encoder = new TextEncoder();

/** Fires `send` (detail: the text) and `stop`. What is written survives a reload, under `draftKey`. */
export class FixieComposer extends LightElement {
  static properties = {
    busy: { type: Boolean },
    stopping: { type: Boolean },
    closed: { type: Boolean },
    maxBytes: { type: Number },
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

  render() {
    return html`
      <form class="composer" @submit=${this.#onSubmit}>
        <label class="visually-hidden" for="composer-text">Message</label>
        <textarea
          id="composer-text"
          rows="1"
          dir="auto"
          placeholder="Ask something"
          enterkeyhint="send"
          autocomplete="off"
          aria-describedby="composer-hint"
          aria-invalid=${this.tooLong}
          @input=${this.#onInput}
          @keydown=${this.#onKeyDown}
        ></textarea>
        ${this.busy ? this.#stopButton() : nothing}
        <button type="submit" class="primary" aria-disabled=${this.empty || this.tooLong || this.closed}>Send</button>
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

  /** Puts `text` before what is written already. */
  fill(text) {
    this.#textarea.value = [text, this.#textarea.value].filter(Boolean).join("\n");
    this.#onInput();
  }

  get #textarea() {
    return this.renderRoot.querySelector("textarea");
  }

  #stopButton() {
    return html`<button type="button" class="stop" aria-disabled=${this.stopping} @click=${this.#onStop}>
      ${this.stopping ? "Stopping…" : "Stop"}
    </button>`;
  }

  #hint() {
    const limit = Math.floor(this.maxBytes / 1024);
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
    if (this.empty || this.tooLong || this.closed) return;
    const text = this.#textarea.value;
    this.#textarea.value = "";
    this.#onInput();
    this.dispatchEvent(new CustomEvent("send", { detail: text }));
  }

  #onStop() {
    if (!this.stopping) this.dispatchEvent(new CustomEvent("stop"));
    this.focus();
  }
}

/** For browsers without `field-sizing: content`. */
function grow(textarea) {
  if (CSS.supports("field-sizing", "content")) return;
  textarea.style.height = "auto";
  textarea.style.height = `${textarea.scrollHeight}px`;
}

customElements.define("fixie-composer", FixieComposer);
