/** Going anywhere from anywhere: sessions by what was said in them, and the site's places. Loaded when first asked for. */

import { LightElement } from "./light-element.js";
import { call } from "./session-api.js";
import { fill, gettext, language, ngettext } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

const DEBOUNCE_MS = 120;
const RECENT = 8;

/** The places of the site; `words` are what somebody may type for one. */
const PLACES = () => [
  { name: gettext("New chat"), href: "/" },
  { name: gettext("Agents"), href: "/agents" },
  { name: gettext("Register an agent"), href: "/agents/new" },
  { name: gettext("Archived sessions"), href: "/?archived" },
  { name: gettext("Account"), href: "/account" },
  { name: gettext("Usage"), href: "/account/usage" },
  { name: gettext("API keys"), href: "/accounts/keys" },
];

export class FixieSwitcher extends LightElement {
  static properties = {
    found: { state: true },
    active: { state: true },
    typed: { state: true },
    searching: { state: true },
    problem: { state: true },
  };

  #timer = null;
  #request = null;

  constructor() {
    super();
    Object.assign(this, { found: [], active: 0, typed: "", searching: false });
  }

  render() {
    const options = this.#options;
    return html`<dialog class="dialog switcher" aria-label=${gettext("Search sessions")} @close=${this.#onClose} @click=${this.#onBackdrop}>
      <input
        type="text"
        role="combobox"
        aria-label=${gettext("Search sessions, or go to a place")}
        aria-expanded=${options.length > 0}
        aria-controls="switcher-options"
        aria-autocomplete="list"
        aria-activedescendant=${options.length ? `switcher-${this.active}` : nothing}
        placeholder=${gettext("Search sessions, or go to a place")}
        autocomplete="off"
        spellcheck="false"
        maxlength="300"
        dir="auto"
        @input=${this.#onInput}
        @keydown=${this.#onKeyDown}
      />
      <div class="switcher-options" id="switcher-options" role="listbox" aria-label=${gettext("Results")} ?hidden=${!options.length}>
        ${options.map((option, number) => this.#option(option, number))}
      </div>
      <p class="switcher-state" role="status">${this.#state(options)}</p>
    </dialog>`;
  }

  /** What can be gone to: what was found first, then places that have what is typed in their name. */
  get #options() {
    const typed = this.typed.trim().toLocaleLowerCase(language);
    const places = PLACES().filter(({ name }) => name.toLocaleLowerCase(language).includes(typed));
    return [...this.found, ...places];
  }

  #option({ name, href, parts, note }, number) {
    // A link, so that it can be opened in a tab of its own; the focus stays in the field.
    return html`<a
      role="option"
      id="switcher-${number}"
      tabindex="-1"
      href=${href}
      aria-selected=${number === this.active}
      @pointermove=${() => (this.active = number)}
      ><span class="switcher-line"><span class="switcher-name" dir="auto">${name}</span>${note ? html`<span class="muted">${note}</span>` : nothing}</span
      >${parts ? html`<span class="excerpt" dir="auto">${marked(parts)}</span>` : nothing}</a
    >`;
  }

  #state(options) {
    if (this.problem) return this.problem;
    if (this.searching) return gettext("Searching…");
    if (!this.typed.trim()) return "";
    if (!this.found.length) return gettext("No session has all of these words.");
    return fill(ngettext("%(n)s result", "%(n)s results", options.length), { n: options.length.toLocaleString(language) });
  }

  async toggle() {
    await this.updateComplete;
    const dialog = this.querySelector("dialog");
    if (dialog.open) {
      dialog.close();
      return;
    }
    dialog.showModal();
    this.querySelector("input").select();
    if (!this.typed) this.#find();
  }

  #onInput({ target }) {
    this.typed = target.value;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#find(), this.typed.trim() ? DEBOUNCE_MS : 0);
  }

  async #find() {
    this.#request?.abort();
    const request = (this.#request = new AbortController());
    this.searching = true;
    this.problem = undefined;
    try {
      const typed = this.typed.trim();
      const found = await (typed ? searched(this.typed, request.signal) : recent(request.signal));
      if (request.signal.aborted) return;
      this.found = found;
      this.active = 0;
      this.searching = false;
    } catch (error) {
      if (request.signal.aborted) return;
      this.searching = false;
      this.problem = error.message;
    }
  }

  #onKeyDown(event) {
    if (event.isComposing) return;
    const last = this.#options.length - 1;
    const next = { ArrowDown: this.active + 1, ArrowUp: this.active - 1 }[event.key];
    if (next !== undefined) this.#select(next > last ? 0 : next < 0 ? last : next);
    else if (event.key === "Enter") this.querySelector(`#switcher-${this.active}`)?.click();
    else return;
    event.preventDefault();
  }

  async #select(number) {
    this.active = number;
    await this.updateComplete;
    this.querySelector(`#switcher-${number}`)?.scrollIntoView({ block: "nearest" });
  }

  #onBackdrop({ target }) {
    // A link to a place on this very page leaves the dialog, too.
    if (target.localName === "dialog" || target.closest("a")) this.querySelector("dialog").close();
  }

  #onClose() {
    this.#request?.abort();
    clearTimeout(this.#timer);
  }
}

async function recent(signal) {
  const { pinned, items } = await call("GET", `/api/sessions/recent?limit=${RECENT}`, undefined, { signal });
  const rows = [...pinned, ...items].toSorted((one, other) => new Date(other.active) - new Date(one.active));
  return rows.slice(0, RECENT).map(({ handle, title, active }) => ({
    name: title,
    href: `/sessions/${handle}`,
    note: day(active),
  }));
}

async function searched(typed, signal) {
  const { items } = await call("GET", `/api/sessions/search?q=${encodeURIComponent(typed)}`, undefined, { signal });
  return items.map(({ session, title, seq, parts, created, archived }) => ({
    name: seq ? title : marked(parts),
    href: `/sessions/${session}${seq ? `#m-${seq}` : ""}`,
    note: archived ? `${gettext("Archived")} · ${day(created)}` : day(created),
    parts: seq ? parts : null,
  }));
}

const day = (moment) => new Date(moment).toLocaleDateString(language, { dateStyle: "medium" });

const marked = (parts) => parts.map(({ text, hit }) => (hit ? html`<mark>${text}</mark>` : text));

customElements.define("fixie-switcher", FixieSwitcher);

const switcher = document.createElement("fixie-switcher");
document.body.append(switcher);

/** Opens it; where it is open, closes it. The focus goes back to where it was. */
export const toggleSwitcher = () => switcher.toggle();
