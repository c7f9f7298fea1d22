/** Who answers and what it does on the way: one line, which unfolds to the steps. */

import { embedList } from "./embeds.js";
import { LightElement } from "./light-element.js";
import { html, nothing } from "../vendor/lit.js";

const FUNC_CALL = /^Ask Func\[([^\]]*)\]:\s*/;
const FUNC_OUTPUT = /^Func\[([^\]]*)\] says:\s*/;
const AGENT_CALL = /^Ask Agent\[([^\]]*)\]:\s*/;
const AGENT_OUTPUT = /^Agent\[([^\]]*)\] says:\s*/;
const THOUGHT = /^Thought:\s*()/;

/** What to say of a step of each kind, and how the format of Code Shot agents begins its text. */
const KINDS = {
  thought: { begins: THOUGHT, label: () => "Thought" },
  func_call: { begins: FUNC_CALL, label: (name) => `Called ${name}` },
  func_output: { begins: FUNC_OUTPUT, label: (name) => `${name} answered` },
  agent_call: { begins: AGENT_CALL, label: (name) => `Asked ${name}` },
  agent_output: { begins: AGENT_OUTPUT, label: (name) => `${name} answered` },
};
const UNNAMED = {
  thought: "Thought",
  func_call: "Called a function",
  func_output: "Function answered",
  agent_call: "Asked an agent",
  agent_output: "Agent answered",
};

/** `{label, text}` of a step: its text without the words that only say what kind it is. */
export function describe({ kind, text }) {
  const { begins, label } = KINDS[kind];
  const found = begins.exec(text);
  if (!found) return { label: UNNAMED[kind], text };
  return { label: label(found[1]), text: text.slice(found[0].length) };
}

const STATES = {
  queued: "Waiting for its turn…",
  in_progress: "Working…",
  completed: "",
  failed: "Failed",
  canceled: "Stopped",
};

export class FixieSteps extends LightElement {
  static properties = { agent: {}, status: {}, steps: { attribute: false } };

  render() {
    if (!this.steps.length) return html`<p class="byline">${this.#line()}</p>`;
    return html`<details class="steps">
      <summary class="byline">${this.#line()}</summary>
      <ol>
        ${this.steps.map((step) => this.#step(step))}
      </ol>
    </details>`;
  }

  #line() {
    const count = this.steps.length;
    const state = STATES[this.status];
    return html`<span class="agent">${this.agent ?? "Fixie"}</span>
      ${count ? html`<span class="count">${count} ${count === 1 ? "step" : "steps"}</span>` : nothing}
      ${state ? html`<span class="state ${this.status}">${state}</span>` : nothing}`;
  }

  #step(step) {
    const { label, text } = describe(step);
    return html`<li class="step ${step.kind}">
      <span class="label">${label}</span>
      ${text ? html`<div class="text" dir="auto">${text}</div>` : nothing} ${embedList(step.embeds)}
    </li>`;
  }
}

customElements.define("fixie-steps", FixieSteps);
