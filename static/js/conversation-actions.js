/** Sharing a conversation by a link, and copying it. Loaded when the menu of a conversation is opened. */

import { LightElement } from "./light-element.js";
import { call } from "./session-api.js";
import { gettext } from "./texts.js";
import { toast } from "./toast.js";
import { html, nothing } from "../vendor/lit.js";

/** Opens the dialog in which the session with this handle is shared; it gives the focus back. */
export function shareDialog(session) {
  const dialog = document.createElement("fixie-share");
  dialog.session = session;
  document.body.append(dialog);
}

/** Puts the whole conversation on the clipboard, as Markdown. */
export async function copyConversation(session) {
  try {
    const response = await fetch(`/sessions/${session}/export.md`);
    if (!response.ok) throw new Error(String(response.status));
    await navigator.clipboard.writeText(await response.text());
    toast(gettext("The conversation is on the clipboard."));
  } catch {
    toast(gettext("The conversation could not be copied. Export it instead."));
  }
}

/** `link` is `{url, last_seq, created}`, null where there is none, undefined until that is known. */
export class FixieShare extends LightElement {
  static properties = {
    session: {},
    link: { state: true },
    lastSeq: { state: true },
    busy: { state: true },
    problem: { state: true },
    news: { state: true },
  };

  connectedCallback() {
    super.connectedCallback();
    this.#do(async () => {
      const { link, last_seq: lastSeq } = await call("GET", this.#address);
      Object.assign(this, { link, lastSeq });
    });
  }

  get #address() {
    return `/api/sessions/${this.session}/share`;
  }

  render() {
    return html`<dialog class="dialog share" aria-labelledby="share-title" @close=${() => this.remove()}>
      <h2 id="share-title">${gettext("Share this conversation")}</h2>
      <p>
        ${gettext("Whoever has the link can read the whole conversation, without signing in: what you asked, the answers, the agents' steps, and all attachments. What comes later is not shown until you update the link. Your name is not shown.")}
      </p>
      ${this.problem ? html`<p class="failure" role="alert">${this.problem}</p>` : nothing}
      ${this.link ? this.#link() : nothing}
      <p class="news" role="status">${this.news ?? nothing}</p>
      <div class="actions">${this.#buttons()}</div>
    </dialog>`;
  }

  #link() {
    return html`<div class="field">
        <label for="share-url">${gettext("Link")}</label>
        <div class="share-url">
          <input id="share-url" readonly .value=${this.link.url} @focus=${({ target }) => target.select()} />
          <button type="button" class="primary" @click=${this.#onCopy}>${gettext("Copy")}</button>
        </div>
        <p class="help">
          ${this.#isBehind
            ? gettext("The conversation has gone on since: the link does not show the latest messages.")
            : gettext("The link shows all that has been answered so far.")}
          <a href=${this.link.url} target="_blank" rel="noopener">${gettext("See what others see")}</a>
        </p>
      </div>`;
  }

  #buttons() {
    const button = (words, act, kind = "") =>
      html`<button type="button" class=${kind} aria-disabled=${Boolean(this.busy)} @click=${act}>${words}</button>`;
    const close = html`<button type="button" class="close-dialog" @click=${this.#onClose}>${gettext("Close")}</button>`;
    if (this.link === undefined) return close;
    if (this.link === null) return html`${button(gettext("Make a link"), this.#onMake, "primary")} ${close}`;
    return html`${this.#isBehind ? button(gettext("Update to the latest messages"), this.#onUpdate) : nothing}
    ${button(gettext("Stop sharing"), this.#onRevoke)} ${close}`;
  }

  get #isBehind() {
    return this.link.last_seq < this.lastSeq;
  }

  firstUpdated() {
    this.querySelector("dialog").showModal();
  }

  #onClose() {
    this.querySelector("dialog").close();
  }

  #onMake() {
    this.#do(async () => {
      await this.#share();
      this.news = gettext("The link is there.");
      await this.updateComplete;
      this.querySelector("#share-url").focus();
    });
  }

  #onUpdate() {
    this.#do(async () => {
      await this.#share();
      this.news = gettext("The link shows all that has been answered so far.");
      await this.updateComplete;
      this.querySelector("#share-url").focus();
    });
  }

  async #share() {
    this.link = await call("POST", this.#address);
    // What is still being answered cannot be had yet: the link is as new as can be.
    this.lastSeq = this.link.last_seq;
  }

  #onRevoke() {
    this.#do(async () => {
      await call("DELETE", this.#address);
      this.link = null;
      this.news = gettext("The link no longer works.");
      await this.updateComplete;
      this.querySelector(".close-dialog").focus();
    });
  }

  async #onCopy() {
    try {
      await navigator.clipboard.writeText(this.link.url);
      this.news = gettext("Copied.");
    } catch {
      // No clipboard without https, or the reader does not allow it.
      this.querySelector("#share-url").select();
      this.news = gettext("Selected: copy it with Ctrl+C.");
    }
  }

  async #do(work) {
    if (this.busy) return;
    Object.assign(this, { busy: true, problem: undefined, news: undefined });
    try {
      await work();
    } catch (error) {
      this.problem = error.message;
    } finally {
      this.busy = false;
    }
  }
}

customElements.define("fixie-share", FixieShare);
