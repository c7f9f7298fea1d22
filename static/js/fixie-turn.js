/** One query and all that answers it. */

import "./fixie-message.js";
import "./fixie-steps.js";
import { embedList } from "./embeds.js";
import { LightElement } from "./light-element.js";
import { statusOf } from "./transcript.js";
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
      ${embedList(answer?.embeds)}
      ${status === "failed" ? html`<p class="failure" dir="auto">${failure ?? "Something went wrong."}</p>` : nothing}
    `;
  }

  #retry() {
    if (!this.turn.question) return nothing;
    return html`<p><button type="button" class="small" @click=${this.#onRetry}>Retry</button></p>`;
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
