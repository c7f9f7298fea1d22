/** What is done with a whole conversation: a menu beside its title. What the entries do is loaded when it is opened. */

import { LightElement } from "./light-element.js";
import { gettext } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

/** `session` is the handle. */
export class ConversationMenu extends LightElement {
  static properties = { session: {}, open: { state: true } };

  connectedCallback() {
    super.connectedCallback();
    document.addEventListener("pointerdown", this.#onPointerDown);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener("pointerdown", this.#onPointerDown);
  }

  render() {
    return html`<button
        type="button"
        class="icon-button"
        aria-label=${gettext("Share or export this conversation")}
        aria-haspopup="menu"
        aria-expanded=${Boolean(this.open)}
        @click=${() => (this.open ? this.#close() : this.#show(0))}
        @keydown=${this.#onButtonKey}
      >
        ${SHARE}
      </button>
      ${this.open ? this.#menu() : nothing}`;
  }

  #menu() {
    const file = (kind) => `/sessions/${this.session}/export.${kind}`;
    return html`<div
      class="session-menu"
      role="menu"
      aria-label=${gettext("Share or export this conversation")}
      @keydown=${this.#onMenuKey}
      @focusout=${this.#onFocusOut}
    >
      <button type="button" role="menuitem" tabindex="-1" @click=${this.#onShare}>${gettext("Share…")}</button>
      <button type="button" role="menuitem" tabindex="-1" @click=${this.#onCopy}>${gettext("Copy as Markdown")}</button>
      <a role="menuitem" tabindex="-1" href=${file("md")} download @click=${() => this.#close()}>
        ${gettext("Export as Markdown")}
      </a>
      <a role="menuitem" tabindex="-1" href=${file("json")} download @click=${() => this.#close()}>
        ${gettext("Export as JSON")}
      </a>
    </div>`;
  }

  get #items() {
    return [...this.querySelectorAll("[role=menuitem]")];
  }

  async #show(place) {
    this.open = true;
    await this.updateComplete;
    this.#items.at(place).focus();
    // While the reader chooses.
    import("./conversation-actions.js");
  }

  #close({ focus = true } = {}) {
    this.open = false;
    if (focus) this.querySelector("[aria-haspopup]").focus();
  }

  #onButtonKey(event) {
    const place = { ArrowDown: 0, ArrowUp: -1 }[event.key];
    if (place === undefined) return;
    event.preventDefault();
    this.#show(place);
  }

  #onMenuKey(event) {
    const items = this.#items;
    const here = items.indexOf(document.activeElement);
    const places = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: -1 };
    if (event.key === "Escape") {
      // It closes this, and does not stop a run.
      event.stopPropagation();
      this.#close();
    } else if (event.key in places) items.at(places[event.key] % items.length).focus();
    else if (event.key.length === 1 && event.key !== " ") this.#find(items, here, event.key);
    else return;
    event.preventDefault();
  }

  /** The next entry that begins with this letter. */
  #find(items, here, letter) {
    const begins = (item) => item.textContent.trim().toLowerCase().startsWith(letter.toLowerCase());
    [...items.slice(here + 1), ...items].find(begins)?.focus();
  }

  #onFocusOut({ relatedTarget }) {
    if (relatedTarget && !this.contains(relatedTarget)) this.#close({ focus: false });
  }

  #onPointerDown = ({ target }) => {
    if (this.open && !this.contains(target)) this.#close({ focus: false });
  };

  async #onShare() {
    this.#close();
    const { shareDialog } = await import("./conversation-actions.js");
    shareDialog(this.session);
  }

  async #onCopy() {
    this.#close();
    const { copyConversation } = await import("./conversation-actions.js");
    copyConversation(this.session);
  }
}

const SHARE = html`<svg viewBox="0 0 24 24" width="20" height="20" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
  <path d="M12 15V4m0 0L8 8m4-4 4 4M5 13v6h14v-6" />
</svg>`;

customElements.define("fixie-conversation-menu", ConversationMenu);
