/** One query and all that answers it. */

import "./fixie-message.js";
import "./fixie-steps.js";
import { LightElement } from "./light-element.js";
import { statusOf } from "./transcript.js";
import { html, nothing } from "../vendor/lit.js";

/** Fires `retry` (bubbling; detail: the query's text). */
export class FixieTurn extends LightElement {
  static properties = { turn: { attribute: false } };

  render() {
    const { turn } = this;
    const status = statusOf(turn);
    return html`
      ${turn.question ? query(turn.question.text) : nothing}
      <div class="answer" aria-busy=${status === "in_progress"}>
        <fixie-steps .agent=${turn.agent} .status=${status} .steps=${turn.steps}></fixie-steps>
        ${this.#reply(status)} ${status === "failed" ? this.#retry() : nothing}
      </div>
    `;
  }

  /** What a screen reader is told when the turn has ended. */
  get announcement() {
    const said = [...this.querySelectorAll(".prose, .failure")].map(({ textContent }) => textContent.trim());
    return `${this.turn.agent ?? "Fixie"}: ${said.join(" ")}`;
  }

  async getUpdateComplete() {
    await super.getUpdateComplete();
    await this.querySelector("fixie-message")?.updateComplete;
    return true;
  }

  #reply(status) {
    const { answer, text, error } = this.turn;
    const failure = answer?.kind === "error" ? answer.text : error?.message;
    const live = status === "in_progress" || status === "queued";
    const shown = answer?.kind === "response" ? answer.text : text;
    return html`
      ${shown ? html`<fixie-message .text=${shown} ?live=${live}></fixie-message>` : nothing}
      ${status === "failed" ? html`<p class="failure" dir="auto">${failure ?? "Something went wrong."}</p>` : nothing}
    `;
  }

  #retry() {
    if (!this.turn.question) return nothing;
    return html`<p><button type="button" class="small" @click=${this.#onRetry}>Retry</button></p>`;
  }

  #onRetry() {
    const { text } = this.turn.question;
    this.dispatchEvent(new CustomEvent("retry", { detail: text, bubbles: true }));
  }
}

export const query = (text) => html`<div class="query">
  <span class="visually-hidden">You:</span>
  <p dir="auto">${text}</p>
</div>`;

customElements.define("fixie-turn", FixieTurn);
