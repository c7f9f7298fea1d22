/** What a step was given or gave: JSON in lines, a long text cut off until somebody wants all of it, all copyable. */

import { copyText } from "./clipboard.js";
import { LightElement } from "./light-element.js";
import { fill, gettext, language } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

const LONGEST = 800;
const MOST_LINES = 14;
/** Longer JSON is shown as it came. */
const LONGEST_JSON = 200_000;
/** What is shorter is selected as quickly as copied by a button. */
const WORTH_COPYING = 40;

export class FixieDetail extends LightElement {
  static properties = { text: { attribute: false }, whole: { state: true } };

  render() {
    const all = pretty(this.text);
    const shown = this.whole ? all : beginning(all);
    return html`<div class="text" dir="auto">${shown}${shown === all ? nothing : "…"}</div>
      ${shown !== all || this.whole || all.length > WORTH_COPYING ? this.#actions(all, shown) : nothing}`;
  }

  #actions(all, shown) {
    const n = all.length.toLocaleString(language);
    return html`<div class="detail-actions">
      ${shown !== all || this.whole
        ? html`<button type="button" class="link" aria-expanded=${Boolean(this.whole)} @click=${this.#onToggle}>
            ${this.whole ? gettext("Show less") : fill(gettext("Show all (%(n)s characters)"), { n })}
          </button>`
        : nothing}
      <button type="button" class="link" @click=${({ currentTarget }) => this.#copy(currentTarget, all)}>${gettext("Copy")}</button>
    </div>`;
  }

  #onToggle() {
    this.whole = !this.whole;
  }

  async #copy(button, text) {
    const detail = await copyText(text, { button, source: this.querySelector(".text") });
    this.dispatchEvent(new CustomEvent("tell", { detail, bubbles: true }));
  }
}

/** JSON objects and lists with a line for each value; any other text as it is. */
export function pretty(text) {
  if (!/^\s*[[{]/.test(text) || text.length > LONGEST_JSON) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function beginning(text) {
  if (text.length <= LONGEST && text.split("\n", MOST_LINES + 1).length <= MOST_LINES) return text;
  // Not in the midst of a character that takes two units.
  const cut = text.slice(0, LONGEST).replace(/[\uD800-\uDBFF]$/, "");
  return cut.split("\n").slice(0, MOST_LINES).join("\n");
}

customElements.define("fixie-detail", FixieDetail);
