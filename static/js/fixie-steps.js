/** Who answers and what it does on the way: one line, which unfolds to the steps. */

import "./fixie-child.js";
import { LightElement } from "./light-element.js";
import { stateOf, stepList } from "./step-list.js";
import { entriesOf } from "./steps.js";
import { statusOf } from "./transcript.js";
import { html, nothing } from "../vendor/lit.js";

export class FixieSteps extends LightElement {
  static properties = { turn: { attribute: false } };

  render() {
    const entries = entriesOf(this.turn);
    if (!entries.length) return html`<p class="byline">${this.#line(0)}</p>`;
    return html`<details class="steps">
      <summary class="byline">${this.#line(entries.length)}</summary>
      ${stepList(entries, `What ${this.#agent} did`)}
    </details>`;
  }

  get #agent() {
    return this.turn.agent ?? "Fixie";
  }

  #line(count) {
    const asked = [...new Set(this.turn.children.map(({ agent }) => agent).filter(Boolean))];
    return html`<span class="agent">${this.#agent}</span>
      ${asked.length ? html`<span class="asking">asked ${asked.join(", ")}</span>` : nothing}
      ${count ? html`<span class="fold">${count} ${count === 1 ? "step" : "steps"}</span>` : nothing}
      ${stateOf(statusOf(this.turn))}`;
  }
}

customElements.define("fixie-steps", FixieSteps);
