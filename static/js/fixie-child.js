/** What an agent did for another: one line, which unfolds to what it was asked, its steps, and its answer. */

import "./fixie-message.js";
import { durationText, lengthOf } from "./durations.js";
import { embedList } from "./embeds.js";
import { LightElement } from "./light-element.js";
import { unnamed } from "./markdown.js";
import { stateOf, stepList } from "./step-list.js";
import { answerOf, askedOf, entriesOf, failureOf } from "./steps.js";
import { fill, gettext } from "./texts.js";
import { isBusy, statusOf } from "./transcript.js";
import { html, nothing } from "../vendor/lit.js";

/** What is folded is not drawn: a turn may have dozens below it. */
export class FixieChild extends LightElement {
  static properties = { turn: { attribute: false }, open: { state: true } };

  render() {
    const { turn } = this;
    const { agent, text } = askedOf(turn.question ?? { text: "" });
    const name = turn.agent ?? agent ?? gettext("An agent");
    return html`<details class="child" @toggle=${this.#onToggle}>
      <summary class="byline fold">
        <span class="visually-hidden">${gettext("Asked")}</span>
        <span class="agent" dir="auto">${name}</span>
        ${text ? html`<span class="asking" dir="auto">${text}</span>` : nothing}
        ${stateOf(statusOf(turn), gettext("Done"))} ${this.#time()}
      </summary>
      ${this.open ? this.#body(name, text) : nothing}
    </details>`;
  }

  #time() {
    const words = durationText(lengthOf(this.turn));
    return words ? html`<span class="time">${words}</span>` : nothing;
  }

  #body(name, asked) {
    const { turn } = this;
    const entries = entriesOf(turn);
    const said = answerOf(turn);
    const failed = statusOf(turn) === "failed";
    return html`<div class="child-body">
      ${asked ? html`<p class="asked" dir="auto">${asked}</p>` : nothing} ${embedList(turn.question?.embeds)}
      ${entries.length ? stepList(entries, fill(gettext("What %(agent)s did"), { agent: name }), isBusy(turn)) : nothing}
      ${said
        ? html`<fixie-message .text=${said} .embeds=${turn.answer?.embeds} ?live=${isBusy(turn)}></fixie-message>`
        : nothing}
      ${embedList(unnamed(said, turn.answer?.embeds))}
      ${failed ? html`<p class="failure" dir="auto">${failureOf(turn) ?? gettext("Something went wrong.")}</p>` : nothing}
    </div>`;
  }

  /** Its own fold, not one inside it: `toggle` does not bubble. */
  #onToggle({ target }) {
    this.open = target.open;
  }
}

customElements.define("fixie-child", FixieChild);
