/** Completes `@owner/handle` in a text field: a listbox that the field itself leads through, so that focus stays. */

import { call } from "./session-api.js";
import { fill, gettext, ngettext } from "./texts.js";
import { html, nothing, repeat } from "../vendor/lit.js";

const DEBOUNCE_MS = 120;
const KEPT_MS = 60_000;
const LIST = "mentions";
/** What was typed of a name, before the caret. */
const TYPED = /(?:^|\s)@([^\s@]{0,100})$/;

const idOf = (place) => `mention-${place}`;

/** Answers of the last minute, by what was typed. */
const known = new Map();

export class Mentions {
  /** What is offered: `[{agent, name, owner, description, healthy}]`; `active` is the chosen one's place. */
  items = [];
  active = 0;

  #field;
  #onChange;
  #typed = null;
  #dismissed = null;
  #timer = null;
  #aborting = null;

  /** `onChange` is called when the list has to be drawn anew. */
  constructor(field, onChange) {
    this.#field = field;
    this.#onChange = onChange;
    field.addEventListener("blur", () => this.close());
  }

  get open() {
    return this.items.length > 0;
  }

  /** Looks at what stands before the caret, after every change of it. */
  look() {
    const typed = this.#beforeCaret();
    if (typed === this.#typed) return;
    this.#typed = typed;
    clearTimeout(this.#timer);
    this.#aborting?.abort();
    if (typed === null) this.#dismissed = null;
    if (typed === null || this.#dismissed !== null) {
      this.#show([]);
      return;
    }
    const found = known.get(typed);
    if (found && Date.now() - found.at < KEPT_MS) this.#show(found.agents);
    else this.#timer = setTimeout(() => this.#ask(typed), DEBOUNCE_MS);
  }

  /** Takes a key of the open list and returns true; else false. */
  onKey(event) {
    if (!this.open || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return false;
    const keys = { ArrowDown: () => this.#step(1), ArrowUp: () => this.#step(-1), Escape: () => this.close() };
    const choose = () => this.choose(this.active);
    const act = { ...keys, Enter: choose, Tab: choose }[event.key];
    if (!act) return false;
    event.preventDefault();
    event.stopPropagation();
    act();
    return true;
  }

  /** Closes the list until something else is typed. */
  close() {
    if (!this.open) return;
    this.#dismissed = this.#typed;
    this.#show([]);
  }

  /** Puts the agent in the place of what was typed. */
  choose(place) {
    const { agent } = this.items[place];
    const { selectionStart: caret, value } = this.#field;
    const after = value.slice(caret).startsWith(" ") ? "" : " ";
    this.#field.setRangeText(`@${agent}${after}`, caret - this.#typed.length - 1, caret, "end");
    if (!after) this.#field.setSelectionRange(this.#field.selectionEnd + 1, this.#field.selectionEnd + 1);
    this.#show([]);
    this.#field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }

  /** The list, and how many there are for who cannot see it. */
  render() {
    const n = this.items.length;
    return html`<span role="status" class="visually-hidden">
        ${n ? fill(ngettext("%(n)s agent; Enter chooses", "%(n)s agents; arrow keys and Enter choose", n), { n }) : nothing}
      </span>
      ${n ? this.#list() : nothing}`;
  }

  #list() {
    const keepFocus = (event) => event.preventDefault();
    // It may scroll, and so has to be one that can have the focus; the field takes the Tab that would lead there.
    const name = gettext("Agents");
    return html`<ul id=${LIST} class="mentions" role="listbox" tabindex="0" aria-label=${name} @mousedown=${keepFocus}>
      ${repeat(this.items, ({ agent }) => agent, (item, place) => this.#option(item, place))}
    </ul>`;
  }

  #option({ agent, name, description, healthy }, place) {
    return html`<li
      id=${idOf(place)}
      role="option"
      aria-selected=${place === this.active}
      @click=${() => this.choose(place)}
      @mousemove=${() => this.#activate(place)}
    >
      <span class="mention-name">
        ${name ? html`<strong dir="auto">${name}</strong>` : nothing} <span class="agent">@${agent}</span>
        ${healthy ? nothing : html`<span class="badge warning">${gettext("not answering")}</span>`}
      </span>
      <span class="mention-words" dir="auto">${description}</span>
    </li>`;
  }

  #beforeCaret() {
    const { selectionStart: start, selectionEnd: end, value } = this.#field;
    return start === end ? (TYPED.exec(value.slice(0, end))?.[1] ?? null) : null;
  }

  async #ask(typed) {
    this.#aborting = new AbortController();
    try {
      const agents = await call("GET", `/api/complete?q=${encodeURIComponent(typed)}`, undefined, this.#aborting);
      known.set(typed, { agents, at: Date.now() });
      if (typed === this.#typed && document.activeElement === this.#field) this.#show(agents);
    } catch {
      // Nothing to offer; the name can be typed in full.
    }
  }

  #step(by) {
    this.#activate((this.active + by + this.items.length) % this.items.length);
    document.getElementById(idOf(this.active))?.scrollIntoView({ block: "nearest" });
  }

  #activate(place) {
    if (place === this.active) return;
    this.active = place;
    this.#mark();
    this.#onChange();
  }

  #show(items) {
    // The only one that fits and is there in full needs no choosing.
    this.items = items.length === 1 && items[0].agent === this.#typed ? [] : items;
    this.active = 0;
    this.#mark();
    this.#onChange();
  }

  /** A text area may not be called a combobox; what leads through a list it may have. */
  #mark() {
    const marks = { "aria-controls": LIST, "aria-activedescendant": idOf(this.active) };
    for (const [name, value] of Object.entries(marks)) {
      if (this.open) this.#field.setAttribute(name, value);
      else this.#field.removeAttribute(name);
    }
  }
}
