/** One query and all that answers it. */

import "./fixie-message.js";
import "./fixie-others.js";
import "./fixie-steps.js";
import { embedList } from "./embeds.js";
import { LightElement } from "./light-element.js";
import { answerOf, failureOf } from "./steps.js";
import { isBusy, statusOf } from "./transcript.js";
import { html, nothing } from "../vendor/lit.js";

/** Fires `retry` (bubbling; detail: the query's `{text, embeds}`). */
export class FixieTurn extends LightElement {
  static properties = { turn: { attribute: false } };

  render() {
    const { turn } = this;
    const status = statusOf(turn);
    return html`
      ${turn.question ? query(turn.question) : nothing}
      <div class="answer" aria-busy=${status === "in_progress"}>
        <fixie-steps .turn=${turn}></fixie-steps>
        <div class="reply">${this.#reply(status)}</div>
        ${turn.question && !isBusy(turn) ? this.#after(status) : nothing}
      </div>
    `;
  }

  /** What a screen reader is told when the turn has ended. */
  get announcement() {
    const said = [...this.querySelectorAll(".reply :is(.prose, .failure)")];
    return `${this.turn.agent ?? "Fixie"}: ${said.map(({ textContent }) => textContent.trim()).join(" ")}`;
  }

  async getUpdateComplete() {
    await super.getUpdateComplete();
    await this.querySelector(".reply fixie-message")?.updateComplete;
    return true;
  }

  #reply(status) {
    const said = answerOf(this.turn);
    const failure = failureOf(this.turn) ?? "Something went wrong.";
    return html`
      ${said ? html`<fixie-message .text=${said} ?live=${isBusy(this.turn)}></fixie-message>` : nothing}
      ${embedList(this.turn.answer?.embeds)}
      ${status === "failed" ? html`<p class="failure" dir="auto">${failure}</p>` : nothing}
    `;
  }

  /** What can be done about an answer. */
  #after(status) {
    return html`<div class="after">
      ${status === "failed" ? html`<button type="button" class="small" @click=${this.#onRetry}>Retry</button>` : nothing}
      <fixie-others .turn=${this.turn}></fixie-others>
    </div>`;
  }

  #onRetry() {
    const { text, embeds } = this.turn.question;
    this.dispatchEvent(new CustomEvent("retry", { detail: { text, embeds }, bubbles: true }));
  }
}

export const query = ({ text, embeds }) => html`<div class="query">
  <span class="visually-hidden">You:</span>
  <p dir="auto">${text}</p>
  ${embedList(embeds)}
</div>`;

customElements.define("fixie-turn", FixieTurn);
