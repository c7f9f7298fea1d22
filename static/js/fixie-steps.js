/** Who answers and what it does on the way: one line, which unfolds to the steps. */

import "./fixie-child.js";
import { durationText, lengthOf, tokensText } from "./durations.js";
import { LightElement } from "./light-element.js";
import { stateOf, stepList } from "./step-list.js";
import { entriesOf } from "./steps.js";
import { fill, gettext, ngettext } from "./texts.js";
import { isBusy, standingOf } from "./transcript.js";
import { html, nothing } from "../vendor/lit.js";

/** What is folded is not drawn: a session may have thousands of steps. */
export class FixieSteps extends LightElement {
  static properties = { turn: { attribute: false }, open: { state: true } };

  render() {
    const entries = entriesOf(this.turn);
    if (!entries.length) return html`<p class="byline">${this.#line(0)}</p>`;
    const name = fill(gettext("What %(agent)s did"), { agent: this.#agent });
    return html`<details class="steps" @toggle=${this.#onToggle}>
      <summary class="byline">${this.#line(entries.length)}</summary>
      ${this.open ? stepList(entries, name, isBusy(this.turn)) : nothing}
    </details>`;
  }

  get #agent() {
    return this.turn.agent ?? "Fixie";
  }

  #line(count) {
    const asked = [...new Set(this.turn.children.map(({ agent }) => agent).filter(Boolean))];
    return html`<span class="agent" dir="auto">${this.#agent}</span>
      ${asked.length
        ? html`<span class="asking">${fill(gettext("asked %(agents)s"), { agents: asked.join(", ") })}</span>`
        : nothing}
      ${count
        ? html`<span class="fold">${fill(ngettext("%(n)s step", "%(n)s steps", count), { n: count })}</span>`
        : nothing}
      ${stateOf(standingOf(this.turn))} ${timesOf(this.turn)}`;
  }

  /** Its own fold, not one inside it: `toggle` does not bubble. */
  #onToggle({ target }) {
    this.open = target.open;
  }
}

/** How long a turn took and what it used; while it goes on, how long so far. */
export function timesOf(turn) {
  if (isBusy(turn)) {
    return turn.started ? html`<fixie-clock class="time" since=${turn.started}></fixie-clock>` : nothing;
  }
  const words = [durationText(lengthOf(turn)), turn.tokens ? tokensText(turn.tokens) : ""].filter(Boolean);
  return words.length ? html`<span class="time">${words.join(" · ")}</span>` : nothing;
}

customElements.define("fixie-steps", FixieSteps);
