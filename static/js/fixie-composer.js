/** Where the user writes: grows with its text, never loses any of it. */

import { Attachments, itemsOf } from "./attachments.js";
import { attachButton, buttons, composerLine, editBanner, grow, refusedFiles, stateOf } from "./composer-parts.js";
import { Draft } from "./drafts.js";
import { DropZone, pastedFiles } from "./dropping.js";
import { fileChips } from "./file-chips.js";
import { LightElement } from "./light-element.js";
import { Quota } from "./quota.js";
import { gettext } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

/**
 * Fires `send` (detail: `{text, embeds, ifBusy}`, and `branch` where an earlier question is edited), `stop`,
 * `cancel-edit`, and `edit-last` for ↑ in an empty field. What a `send` that is prevented holds stays written.
 *
 * What is written survives the tab, under `draftKey`. `nextKey` is a function: the first key for a file that nothing in
 * the session has. `quota` is what the page was delivered with. `refusals` counts what the site would not take, after
 * which the quota is asked for again. `lead` is a template for the foot: more to choose. `sending` is while the site has
 * not answered; a `calm` status is for screen readers alone.
 */
export class FixieComposer extends LightElement {
  static properties = {
    busy: { type: Boolean },
    stopping: { type: Boolean },
    closed: { type: Boolean },
    sending: { type: Boolean },
    maxBytes: { type: Number },
    maxEmbeds: { type: Number },
    maxEmbedBytes: { type: Number },
    nextKey: { attribute: false },
    quota: { attribute: false },
    refusals: { type: Number },
    lead: { attribute: false },
    label: {},
    placeholder: {},
    draftKey: {},
    status: {},
    calm: { type: Boolean },
    text: { state: true },
    refused: { state: true },
    waiting: { state: true },
  };

  #mentions = null;
  /** What was written before an earlier question came to be edited: `{text, attachments}`. */
  #before;

  constructor() {
    super();
    this.text = "";
    this.refused = [];
    this.refusals = 0;
    this.#hold(new Attachments());
  }

  connectedCallback() {
    super.connectedCallback();
    this.allowance ??= new Quota(this.quota, () => this.requestUpdate());
    const onGone = () => this.#editing || this.clear();
    this.draft = new Draft(this.draftKey, { onGone, onShown: () => this.#onShown() });
    this.dropZone = new DropZone((files, refused) => this.#attach(files, refused));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.draft.stop();
    this.dropZone.stop();
  }

  render() {
    const state = this.#state;
    return html`
      <form class="composer" @submit=${this.#onSubmit}>
        ${this.#editing ? editBanner(this.#onCancelEdit) : nothing} ${refusedFiles(this.refused, this.#onDismiss)}
        ${fileChips(this.attachments.items, { onRetry: this.#onRetry, onRemove: this.#onRemove })}
        <label class="visually-hidden" for="composer-text">${this.label ?? gettext("Message")}</label>
        <textarea
          id="composer-text"
          rows="1"
          dir="auto"
          placeholder=${this.placeholder}
          enterkeyhint="send"
          autocomplete="off"
          aria-autocomplete="list"
          aria-describedby="composer-hint composer-quota"
          aria-invalid=${state.left < 0}
          @input=${this.#onInput}
          @selectionchange=${() => this.#mentions?.look()}
          @keydown=${this.#onKeyDown}
          @paste=${this.#onPaste}
        ></textarea>
        ${this.#mentions?.render() ?? nothing}
        <div class="composer-foot">
          ${attachButton((files) => this.#attach(files))} ${this.lead ?? nothing}
          ${buttons(state, { onStop: this.#onStop, onInterrupt: () => this.#send("interrupt") })}
        </div>
      </form>
      ${composerLine(state, this)}
    `;
  }

  firstUpdated() {
    this.#restoreDraft();
  }

  updated(changed) {
    if (changed.has("refusals") && this.refusals > (changed.get("refusals") ?? 0)) this.allowance.refresh();
  }

  focus() {
    this.#field.focus({ preventScroll: true });
  }

  /** Puts `text` before what is written already, and its `embeds` (`{key: {id, …}}`) before the files. */
  fill(text, embeds = {}) {
    this.#write([text, this.#field.value].filter(Boolean).join("\n"));
    this.attachments.restore(embeds);
  }

  /** Has an earlier question changed, `seq` in its session; what was being written comes back afterwards. */
  edit({ seq, text, embeds }) {
    this.#before ??= { text: this.text, attachments: this.attachments };
    this.seq = seq;
    this.refused = [];
    this.#hold(new Attachments(itemsOf(embeds)));
    this.#write(text);
    this.focus();
    this.#field.setSelectionRange(text.length, text.length);
  }

  /** Empties the field, or gives back what was written before an earlier question was edited. */
  clear() {
    this.attachments.clear();
    this.refused = [];
    const { text, attachments } = this.#before ?? { text: "", attachments: this.attachments };
    this.#before = undefined;
    this.#hold(attachments);
    this.#write(text);
  }

  get #field() {
    return this.renderRoot.querySelector("textarea");
  }

  get #isEmpty() {
    return !this.text && !this.attachments.items.length;
  }

  get #editing() {
    return this.#before !== undefined;
  }

  get #state() {
    return stateOf(this, this.#editing);
  }

  #write(text) {
    this.#field.value = text;
    this.#onInput();
  }

  #onInput() {
    const field = this.#field;
    this.waiting = undefined;
    this.text = field.value;
    this.#keepDraft();
    this.#complete();
    grow(field);
  }

  #hold(attachments) {
    this.attachments = attachments;
    attachments.onchange = () => {
      if (this.attachments === attachments) {
        this.#keepDraft();
        this.#sendWaiting();
      }
      this.requestUpdate();
    };
  }

  /** The completion is loaded with the first `@`. */
  async #complete() {
    if (!this.#mentions && this.text.includes("@")) {
      const { Mentions } = await import("./mention.js");
      this.#mentions ??= new Mentions(this.#field, () => this.requestUpdate());
    }
    this.#mentions?.look();
  }

  #keepDraft() {
    if (!this.#editing) this.draft.save({ text: this.text, files: this.attachments.lasting });
  }

  #restoreDraft() {
    const { text, files } = this.draft.load();
    if (!text && !files.length) return;
    this.#hold(new Attachments(files));
    this.#write(text);
  }

  #onShown() {
    this.allowance.refreshIfStale();
    if (!this.#editing && this.#isEmpty) this.#restoreDraft();
  }

  #onKeyDown(event) {
    // Enter also ends the composition of a Japanese or Chinese word; that one is not ours.
    if (event.isComposing || event.keyCode === 229) return;
    const always = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (!always && this.#mentions?.onKey(event)) return;
    if (event.key === "Enter" && (always || !event.shiftKey)) {
      event.preventDefault();
      this.#send(event.shiftKey ? "interrupt" : "enqueue");
    } else if (event.key === "Escape" && this.#editing) {
      event.stopPropagation();
      this.#onCancelEdit();
    } else if (event.key === "ArrowUp" && !this.#editing && this.#isEmpty) {
      this.dispatchEvent(new CustomEvent("edit-last"));
    }
  }

  #onSubmit(event) {
    event.preventDefault();
    this.#send();
  }

  async #send(ifBusy = "enqueue") {
    this.focus();
    const { ready, whole } = this.#state;
    if (whole && !ready) this.waiting = ifBusy;
    if (!ready) return;
    // Perhaps there is more by now: somebody gave credits, or a new day has begun.
    if (this.allowance.none) await this.allowance.refresh();
    if (this.allowance.none || !this.#state.ready) return;
    const { embeds } = this.attachments;
    // A message has a text: files alone are named in it.
    const text = this.text.trim() ? this.text : Object.keys(embeds).map((key) => `#${key}`).join(" ");
    const detail = { text, embeds, ifBusy, ...(this.#editing && { branch: this.seq }) };
    const taken = this.dispatchEvent(new CustomEvent("send", { detail, cancelable: true }));
    this.allowance.spend();
    if (taken) this.clear();
  }

  /** What was sent before its files were there goes with the last of them; one that fails keeps it here. */
  #sendWaiting() {
    const { waiting, ready, whole } = this.#state;
    if (!waiting || (whole && !ready)) return;
    this.waiting = undefined;
    if (ready) this.#send(waiting);
  }

  async #attach(files, refused = []) {
    this.waiting = undefined;
    const { maxEmbeds, maxEmbedBytes: maxBytes } = this;
    this.focus();
    this.refused = [...refused, ...(await this.attachments.add(files, { nextKey: this.nextKey(), maxEmbeds, maxBytes }))];
    // Without a file that was refused it may be another message.
    if (this.refused.length) this.waiting = undefined;
    else this.#sendWaiting();
  }

  #onPaste(event) {
    const files = pastedFiles(event.clipboardData);
    if (!files.length) return;
    event.preventDefault();
    this.#attach(files);
  }

  #onRetry = (key) => this.#changeFiles(() => this.attachments.retry(key));
  #onRemove = (key) => this.#changeFiles(() => this.attachments.remove(key));

  #changeFiles(change) {
    this.waiting = undefined;
    change();
    this.focus();
  }

  #onDismiss = () => {
    this.refused = [];
    this.focus();
  };

  #onCancelEdit = () => {
    this.clear();
    this.focus();
    this.dispatchEvent(new CustomEvent("cancel-edit"));
  };

  #onStop = () => {
    if (!this.stopping) this.dispatchEvent(new CustomEvent("stop"));
    this.focus();
  };
}

customElements.define("fixie-composer", FixieComposer);
