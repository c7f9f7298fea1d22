/** Markdown text, also while it streams: only blocks that changed are drawn again, and of these only what did. */

import "./fixie-embed.js";
import { copyText } from "./clipboard.js";
import { unwatch, watch } from "./out-of-sight.js";
import { show } from "./foreign-pictures.js";
import { LightElement } from "./light-element.js";
import { blocksOf } from "./markdown.js";
import { morphChildren } from "./morph.js";
import { html } from "../vendor/lit.js";

/** Long texts are drawn less often while they stream: parsing and drawing take longer than a frame. */
const QUICK_MS = 12;
const REST = 6;
const REST_MOST_MS = 2000;

/**
 * `embeds` are those that the text may name, `{key: embed}`. A `lazy` text is there as it was written until
 * `out-of-sight.js` has it drawn. Fires `tell` (detail: what a screen reader is to say).
 */
export class FixieMessage extends LightElement {
  static properties = {
    text: { attribute: false },
    embeds: { attribute: false },
    live: { type: Boolean },
    lazy: { type: Boolean },
  };

  #blocks = [];
  #timer = null;
  #took = 0;
  /** Of a `lazy` text. */
  #isDrawn = false;

  constructor() {
    super();
    this.text = "";
    this.live = false;
    this.embeds = {};
  }

  render() {
    return html`<div class="prose" dir="auto" @click=${this.#onClick}></div>`;
  }

  connectedCallback() {
    super.connectedCallback();
    if (this.lazy) watch(this);
  }

  draw() {
    if (this.#isDrawn) return;
    this.#isDrawn = true;
    this.#draw();
  }

  /** From now on it is there as it was written. */
  undraw() {
    this.#isDrawn = false;
    this.#blocks = [];
    this.renderRoot.querySelector(".prose").textContent = this.text;
  }

  updated() {
    if (this.lazy && !this.#isDrawn) {
      this.undraw();
      return;
    }
    const rest = this.live && this.#took > QUICK_MS ? Math.min(this.#took * REST, REST_MOST_MS) : 0;
    if (!rest) this.#draw();
    else this.#timer ??= setTimeout(() => this.#draw(), rest);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
    this.#timer = null;
    unwatch(this);
  }

  /** Keeps the leading blocks that are still the same, and so their place, their selection and their images. */
  #draw() {
    clearTimeout(this.#timer);
    this.#timer = null;
    const began = performance.now();
    const blocks = blocksOf(this.text, { keys: Object.keys(this.embeds ?? {}), live: this.live });
    const same = this.#blocks.findIndex(({ key }, index) => key !== blocks[index]?.key);
    const kept = same === -1 ? this.#blocks.length : same;
    this.#redraw(blocks, kept);
    this.#took = performance.now() - began;
    this.#highlight();
  }

  #redraw(blocks, kept) {
    const drawn = this.#blocks.slice(0, kept);
    const before = drawn.reduce((count, { size }) => count + size, 0);
    const news = blocks.slice(kept).map(({ key, nodes }) => ({ key, nodes: nodes() }));
    morphChildren(this.renderRoot.querySelector(".prose"), news.flatMap(({ nodes }) => nodes), before);
    this.#blocks = [...drawn, ...news.map(({ key, nodes }) => ({ key, size: nodes.length }))];
    for (const place of this.querySelectorAll("fixie-embed")) place.embed = this.embeds?.[place.dataset.key];
  }

  /** The last block of a text that is being written is not whole. */
  async #highlight() {
    const whole = this.live ? ".prose > :not(:last-child)" : ".prose > *";
    const code = `:is(${whole}) pre > code[class^="language-"]:not(.highlighted)`;
    if (!this.querySelector(code)) return;
    const { highlightIn } = await import("./highlight.js");
    for (const found of this.querySelectorAll(code)) highlightIn(found);
  }

  #onClick({ target }) {
    const copy = target.closest(".copy-code");
    if (copy) this.#copy(copy);
    const picture = target.closest(".show-picture");
    if (picture) show(picture);
  }

  async #copy(button) {
    const code = button.closest(".code-block").querySelector("pre");
    const said = await copyText(code.textContent, { button, source: code });
    this.dispatchEvent(new CustomEvent("tell", { detail: said, bubbles: true }));
  }
}

customElements.define("fixie-message", FixieMessage);
