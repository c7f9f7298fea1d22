/** Another agent for a question that was answered, or that no agent was chosen for. */

import { LightElement } from "./light-element.js";
import { newClientId } from "./outbox.js";
import { percent } from "./route.js";
import { explain } from "./errors.js";
import { askAgain, candidatesFor } from "./session-api.js";
import { routesOf } from "./steps.js";
import { fill, gettext } from "./texts.js";
import { statusOf } from "./transcript.js";
import { html, nothing } from "../vendor/lit.js";

/** What the agents are that the Router leaves to choose from, for who cannot see that they stand below the answer. */
const CHOICES = { close: () => gettext("Which one?"), none: () => gettext("The nearest agents") };
let panels = 0;

/** Fires `reask` (bubbling; detail: what to tell a screen reader) when the question has been asked somewhere else. */
export class FixieOthers extends LightElement {
  static properties = {
    turn: { attribute: false },
    open: { state: true },
    found: { state: true },
    asking: { state: true },
    asked: { state: true },
    problem: { state: true },
  };

  #id = `others-${(panels += 1)}`;
  /** By agent: who tries again, because no answer came, may have been heard the first time. */
  #clientIds = new Map();

  render() {
    if (this.asked) return html`<p class="note">${this.asked}</p>`;
    return html`${this.#choice()} ${this.#again()}
      <button
        type="button"
        class="small quiet"
        aria-expanded=${Boolean(this.open)}
        aria-controls=${this.#id}
        @click=${this.#onToggle}
      >
        ${gettext("Ask someone else")}
      </button>
      ${this.problem && !this.open ? this.#problem() : nothing}
      <div class="others" id=${this.#id} ?hidden=${!this.open} @keydown=${this.#onKeyDown}>
        ${this.open ? this.#panel() : nothing}
      </div>`;
  }

  /** The same agent once more: of what has failed, asking again is the first thing that is offered. */
  #again() {
    const { agent } = this.turn;
    if (!agent || statusOf(this.turn) === "failed") return nothing;
    return html`<button type="button" class="small quiet" @click=${() => this.#ask(agent)}>${gettext("Ask again")}</button>`;
  }

  /** Where the Router did not choose, the agents that the answer offers instead stand right below it. */
  #choice() {
    const { turn } = this;
    const routes = routesOf(turn);
    const name = routes.length === 1 ? CHOICES[routes[0].verdict]?.() : undefined;
    if (!name) return nothing;
    const offered = routes[0].candidates.filter(({ agent }) => turn.answer?.text.includes(agent));
    if (!offered.length) return nothing;
    return html`<div class="choice" role="group" aria-label=${name}>
      ${offered.map(
        ({ agent }) => html`<button type="button" class="small" @click=${() => this.#ask(agent)}>${agent}</button>`,
      )}
    </div>`;
  }

  #panel() {
    const { found } = this;
    return html`
      <p class="small-title">${gettext("Ask the same of")}</p>
      ${found ? nothing : html`<p>${gettext("Looking for other agents…")}</p>`}
      ${found?.length
        ? html`<ul>
            ${found.map((candidate) => html`<li>${this.#other(candidate)}</li>`)}
          </ul>`
        : nothing}
      <form @submit=${this.#onSubmit}>
        <label for="${this.#id}-agent">${found?.length ? gettext("Or any other agent") : gettext("Any agent")}</label>
        <input
          id="${this.#id}-agent"
          name="agent"
          placeholder="@owner/handle"
          autocomplete="off"
          autocapitalize="none"
          spellcheck="false"
        />
        <button type="submit" class="small" aria-disabled=${Boolean(this.asking)}>${gettext("Ask")}</button>
      </form>
      ${this.problem ? this.#problem() : nothing}
    `;
  }

  #other({ agent, score, matched }) {
    return html`<button type="button" class="other" @click=${() => this.#ask(agent)}>
      <span class="agent">${agent}</span> <span class="muted">${percent(score)}</span>
      ${matched ? html`<span class="muted matched" dir="auto">${matched}</span>` : nothing}
    </button>`;
  }

  #problem() {
    return html`<p class="failure" role="alert">${this.problem}</p>`;
  }

  #onToggle() {
    this.open = !this.open;
    this.problem = undefined;
    if (this.open) this.#find();
  }

  /** Whom the Router considered then; where it was not asked or knew nobody else, it is asked now. */
  async #find() {
    const considered = this.#others(routesOf(this.turn).flatMap(({ candidates }) => candidates));
    if (considered.length) {
      this.found = considered;
      return;
    }
    try {
      this.found = this.#others(await candidatesFor(this.turn.question.text));
    } catch (error) {
      this.found = [];
      this.problem = explain(error).text;
    }
  }

  /** Each agent once, the likeliest first, without those that have answered. */
  #others(candidates) {
    const best = new Map();
    for (const candidate of candidates.toSorted((one, other) => other.score - one.score)) {
      if (!this.#answered.has(candidate.agent) && !best.has(candidate.agent)) best.set(candidate.agent, candidate);
    }
    return [...best.values()];
  }

  get #answered() {
    return new Set([this.turn.agent, ...this.turn.children.map(({ agent }) => agent)]);
  }

  async #ask(agent) {
    if (this.asking) return;
    this.asking = agent;
    this.problem = undefined;
    try {
      await askAgain(this.turn.run, agent, this.#clientId(agent));
      // Who has answered already is no correction.
      this.asked = this.#answered.has(agent)
        ? fill(gettext("Asked %(agent)s again."), { agent })
        : fill(gettext("Asked %(agent)s instead. Fixie will remember this for you."), { agent });
      this.dispatchEvent(new CustomEvent("reask", { detail: this.asked, bubbles: true }));
    } catch (error) {
      this.problem = explain(error).text;
    } finally {
      this.asking = undefined;
    }
  }

  #clientId(agent) {
    if (!this.#clientIds.has(agent)) this.#clientIds.set(agent, newClientId());
    return this.#clientIds.get(agent);
  }

  #onSubmit(event) {
    event.preventDefault();
    const agent = new FormData(event.target).get("agent").trim().replace(/^@/, "");
    if (agent) this.#ask(agent);
    else event.target.elements.agent.focus();
  }

  #onKeyDown(event) {
    if (event.key !== "Escape" || event.isComposing) return;
    // It closes this, and does not stop a run.
    event.stopPropagation();
    this.open = false;
    this.querySelector("[aria-expanded]").focus();
  }
}

customElements.define("fixie-others", FixieOthers);
