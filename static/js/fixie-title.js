/** The title of the session on this page: a click, or the pencil, makes a field of it. */

import { pencilIcon } from "./icons.js";
import { LightElement } from "./light-element.js";
import { call } from "./session-api.js";
import { listen, tell } from "./session-news.js";
import { gettext } from "./texts.js";
import { toast } from "./toast.js";
import { html } from "../vendor/lit.js";

export class FixieTitle extends LightElement {
  static properties = { handle: {}, name: {}, editing: { state: true } };

  connectedCallback() {
    super.connectedCallback();
    this.unlisten = listen(({ handle, title }) => handle === this.handle && title && this.#show(title));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.unlisten();
  }

  render() {
    if (this.editing) return this.#field();
    return html`<h1 dir="auto" title=${this.name} @click=${this.edit}>${this.name}</h1>
      <button type="button" class="icon-button rename-title" aria-label=${gettext("Rename")} @click=${this.edit}>${pencilIcon}</button>`;
  }

  #field() {
    return html`<h1 class="visually-hidden">${this.name}</h1>
      <input
        class="rename"
        aria-label=${gettext("New name")}
        maxlength="200"
        dir="auto"
        .value=${this.name}
        @keydown=${this.#onKeyDown}
        @blur=${({ target }) => this.#named(target.value)}
      />`;
  }

  async edit() {
    this.editing = true;
    await this.updateComplete;
    this.querySelector("input").select();
  }

  #onKeyDown(event) {
    // Escape ends this, and stops no run.
    event.stopPropagation();
    if (event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
    this.#named(event.key === "Enter" ? event.target.value : this.name, { focus: true });
  }

  async #named(written, { focus = false } = {}) {
    if (!this.editing) return;
    this.editing = false;
    await this.updateComplete;
    if (focus) this.querySelector("button").focus();
    if (written.trim() === this.name) return;
    try {
      tell(await call("PATCH", `/api/sessions/${this.handle}`, { name: written.trim() }));
    } catch (error) {
      toast(error.message);
    }
  }

  #show(title) {
    document.title = document.title.replace(this.name, () => title);
    this.name = title;
  }
}

customElements.define("fixie-title", FixieTitle);
