/** Markdown text, also while it streams: only blocks that changed are drawn again. */

import { LightElement } from "./light-element.js";
import { blocksOf } from "./markdown.js";
import { html } from "../vendor/lit.js";

/** Long texts are drawn less often while they stream: parsing takes longer than a frame. */
const SLOW_LENGTH = 20_000;
const SLOW_MS = 200;

export class FixieMessage extends LightElement {
  static properties = { text: { attribute: false }, live: { type: Boolean } };

  #blocks = [];
  #timer = null;

  constructor() {
    super();
    this.text = "";
    this.live = false;
  }

  render() {
    return html`<div class="prose" dir="auto"></div>`;
  }

  updated() {
    const slow = this.live && this.text.length > SLOW_LENGTH;
    if (!slow) this.#draw();
    else this.#timer ??= setTimeout(() => this.#draw(), SLOW_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Keeps the leading blocks that are still the same, and so their place, their selection and their images. */
  #draw() {
    clearTimeout(this.#timer);
    this.#timer = null;
    const blocks = blocksOf(this.text);
    const same = this.#blocks.findIndex(({ key }, index) => key !== blocks[index]?.key);
    const kept = same === -1 ? this.#blocks.length : same;
    for (const { drawn } of this.#blocks.slice(kept)) drawn.forEach((node) => node.remove());
    const added = blocks.slice(kept).map((block) => ({ key: block.key, drawn: block.nodes() }));
    this.renderRoot.querySelector(".prose").append(...added.flatMap(({ drawn }) => drawn));
    this.#blocks = [...this.#blocks.slice(0, kept), ...added];
    if (!this.live) this.#highlight();
  }

  async #highlight() {
    if (!this.querySelector('pre > code[class^="language-"]:not(.highlighted)')) return;
    const { highlightIn } = await import("./highlight.js");
    highlightIn(this);
  }
}

customElements.define("fixie-message", FixieMessage);
