/** The menu of one session in the sidebar's list: one menu for all of them, which opens where it is asked for. */

import { keyName } from "./keys.js";
import { LightElement } from "./light-element.js";
import { gettext } from "./texts.js";
import { html } from "../vendor/lit.js";

const EDGE = 8;

/** Fires `rename` and `delete` with the session's row, and `change` with `{row, changes}`. */
export class FixieSessionMenu extends LightElement {
  static properties = { row: { state: true } };

  render() {
    const { title = "", pinned, archived } = this.row ?? {};
    return html`<div class="session-menu" role="menu" aria-label=${title} popover @keydown=${this.#onKeyDown} @toggle=${this.#onToggle}>
      ${this.#item(gettext("Rename"), "rename", "F2")}
      ${archived ? "" : this.#item(pinned ? gettext("Unpin") : gettext("Pin"), { pinned: !pinned })}
      ${this.#item(archived ? gettext("Take out of the archive") : gettext("Archive"), { archived: !archived })}
      ${this.#item(gettext("Delete"), "delete", keyName("Del"))}
    </div>`;
  }

  #item(label, what, key = "") {
    return html`<button type="button" role="menuitem" tabindex="-1" @click=${() => this.#choose(what)}>
      <span>${label}</span>${key ? html`<kbd aria-hidden="true">${key}</kbd>` : ""}
    </button>`;
  }

  /** Opens the menu of a session at its `button`. */
  async open(row, button) {
    this.row = row;
    this.button = button;
    await this.updateComplete;
    this.#menu.showPopover();
    place(this.#menu, button.getBoundingClientRect());
    this.#items[0].focus();
  }

  get #menu() {
    return this.querySelector("[role=menu]");
  }

  get #items() {
    return [...this.querySelectorAll("[role=menuitem]")];
  }

  #choose(what) {
    this.#menu.hidePopover();
    const { row } = this;
    if (typeof what === "string") this.#fire(what, row);
    else this.#fire("change", { row, changes: what });
  }

  #fire(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #onToggle({ newState }) {
    this.button.setAttribute("aria-expanded", String(newState === "open"));
  }

  #onKeyDown(event) {
    const items = this.#items;
    const at = items.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    if (next !== undefined) items[next % items.length].focus();
    else if (event.key === "Tab") this.#menu.hidePopover();
    else if (event.key === "F2") this.#choose("rename");
    else if (event.key === "Delete") this.#choose("delete");
    else return;
    event.stopPropagation();
    event.preventDefault();
  }
}

/** Below the button, or above it where there is no room; never beyond the window's edge. */
function place(menu, { right, top, bottom }) {
  const { offsetWidth: width, offsetHeight: height } = menu;
  const left = Math.max(EDGE, Math.min(right - width, innerWidth - width - EDGE));
  const below = bottom + height + EDGE < innerHeight;
  menu.style.setProperty("left", `${left}px`);
  menu.style.setProperty("top", `${Math.max(EDGE, below ? bottom : top - height)}px`);
}

customElements.define("fixie-session-menu", FixieSessionMenu);
