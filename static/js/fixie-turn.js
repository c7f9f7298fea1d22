/** One query and all that answers it. */

import "./fixie-message.js";
import "./fixie-others.js";
import "./fixie-steps.js";
import { branchSwitcher } from "./branches.js";
import { copyText } from "./clipboard.js";
import { embedList } from "./embeds.js";
import { explain } from "./errors.js";
import { copyIcon, pencilIcon } from "./icons.js";
import { LightElement } from "./light-element.js";
import { unnamed } from "./markdown.js";
import { answerOf, failureOf } from "./steps.js";
import { gettext } from "./texts.js";
import { isBusy, statusOf } from "./transcript.js";
import { html, nothing } from "../vendor/lit.js";

/**
 * Fires, bubbling: `retry` (detail: the query's `{text, embeds}`), `edit` (`{seq, text, embeds}`), `withdraw` (the run)
 * and `tell` (what a screen reader is to say). `branches` are those of its query; who only reads (`readonly`) has no actions;
 * `lazy` as for `fixie-message`.
 */
export class FixieTurn extends LightElement {
  static properties = {
    turn: { attribute: false },
    branches: { attribute: false },
    readonly: { type: Boolean },
    lazy: { type: Boolean },
  };

  render() {
    const { turn } = this;
    const status = statusOf(turn);
    return html`
      ${turn.question ? this.#query(turn.question, status) : nothing}
      <div class="answer" aria-busy=${status === "in_progress"}>
        <fixie-steps .turn=${turn}></fixie-steps>
        <div class="reply" id=${turn.answer ? `m-${turn.answer.seq}` : nothing}>${this.#reply(status)}</div>
        ${turn.question && !this.readonly ? this.#after(status) : nothing}
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

  #query(question, status) {
    if (this.readonly) return query(question);
    const pencil = html`<button
      type="button"
      class="icon-action quiet"
      title=${gettext("Edit and ask anew")}
      aria-label=${gettext("Edit")}
      @click=${() => this.#fire("edit", asked(question, { seq: question.seq }))}
    >
      ${pencilIcon}
    </button>`;
    const withdraw = html`<button type="button" class="small" @click=${() => this.#fire("withdraw", this.turn.run)}>
      ${gettext("Withdraw")}
    </button>`;
    return query(question, {
      beside: status === "queued" ? nothing : pencil,
      below: status === "queued" ? withdraw : branchSwitcher(this.branches),
    });
  }

  #reply(status) {
    const said = answerOf(this.turn);
    const embeds = this.turn.answer?.embeds;
    return html`
      ${said
        ? html`<fixie-message .text=${said} .embeds=${embeds ?? this.#known} ?live=${isBusy(this.turn)} ?lazy=${this.lazy}></fixie-message>`
        : nothing}
      ${embedList(unnamed(said, embeds))} ${status === "failed" ? this.#failure() : nothing}
      ${said && status === "canceled" ? html`<p class="note" aria-hidden="true">${gettext("Stopped")}.</p>` : nothing}
    `;
  }

  /** What a text that is being written may name: what it was asked with, and what its steps have brought. */
  get #known() {
    const { question, steps } = this.turn;
    return Object.assign({}, question?.embeds, ...steps.map(({ embeds }) => embeds));
  }

  #failure() {
    const words = failureOf(this.turn);
    const { code } = this.turn.error ?? {};
    const told = explain({ code, message: words ?? gettext("Something went wrong.") }, this.turn.agent);
    return html`<div class="failure">
      <p>${told.what}</p>
      ${told.words ? html`<p class="words" dir="auto">${told.words}</p>` : nothing}
      <p>${told.todo || gettext("Try again, or ask someone else.")}</p>
    </div>`;
  }

  /** What can be done about an answer; its room is there before it is. */
  #after(status) {
    if (isBusy(this.turn)) return html`<div class="after"></div>`;
    const said = answerOf(this.turn);
    return html`<div class="after">
      ${said
        ? html`<button
            type="button"
            class="icon-action quiet"
            title=${gettext("Copy the answer")}
            aria-label=${gettext("Copy")}
            @click=${({ currentTarget }) => this.#copy(currentTarget, said)}
          >
            ${copyIcon}
          </button>`
        : nothing}
      ${status === "failed"
        ? html`<button type="button" class="small" @click=${() => this.#fire("retry", asked(this.turn.question))}>
            ${gettext("Retry")}
          </button>`
        : nothing}
      <fixie-others .turn=${this.turn}></fixie-others>
    </div>`;
  }

  async #copy(button, text) {
    this.#fire("tell", await copyText(text, { button, source: this.querySelector(".reply .prose") }));
  }

  #fire(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true }));
  }
}

const asked = ({ text, embeds }, more = {}) => ({ text, embeds, ...more });

/** A question as it was asked, with what can be done `beside` and `below` it. */
export const query = ({ text, embeds }, { beside = nothing, below = nothing } = {}) => html`<div class="query">
  <div class="query-line">
    ${beside}<span class="visually-hidden">${gettext("You:")}</span>
    <p dir="auto">${text}</p>
  </div>
  ${embedList(embeds)} ${below}
</div>`;

customElements.define("fixie-turn", FixieTurn);
