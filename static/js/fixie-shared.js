/** A shared conversation, to read: the components of the chat without anything to do about an answer. */

import "./fixie-turn.js";
import { LightElement } from "./light-element.js";
import { gettext } from "./texts.js";
import { Transcript } from "./transcript.js";
import { html, nothing, repeat } from "../vendor/lit.js";

/** `data` names the JSON script that the page is delivered with; at `more` are the messages after a number. */
export class FixieShared extends LightElement {
  static properties = { data: {}, more: {}, loading: { state: true }, problem: { state: true }, last: { state: true } };

  #transcript = new Transcript();

  connectedCallback() {
    super.connectedCallback();
    const page = JSON.parse(document.getElementById(this.data).textContent);
    this.end = page.last_seq;
    this.#transcript.load({ ...page, last_seq: page.messages.at(-1)?.seq ?? 0 });
    this.last = this.#transcript.lastSeq;
  }

  render() {
    return html`<section class="turns" aria-label=${gettext("Conversation")}>
      <ol>
        ${repeat(this.#transcript.turns, ({ run }) => run, (turn) => html`<li><fixie-turn readonly id="m-${turn.query}" .turn=${turn}></fixie-turn></li>`)}
      </ol>
      ${this.last < this.end ? this.#more() : nothing}
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
    </section>`;
  }

  #more() {
    return html`<p class="earlier">
      <button type="button" class="small" aria-disabled=${Boolean(this.loading)} @click=${this.#onMore}>
        ${this.loading ? gettext("Loading…") : gettext("Show more messages")}
      </button>
    </p>`;
  }

  async #onMore() {
    if (this.loading) return;
    this.loading = true;
    this.problem = undefined;
    try {
      const { messages, runs } = await messagesAfter(this.more, this.last);
      const first = messages.find(({ kind }) => kind === "query")?.seq;
      for (const run of runs) this.#transcript.apply(run);
      for (const message of messages) this.#transcript.apply({ type: "message", message });
      this.last = this.#transcript.lastSeq;
      await this.updateComplete;
      this.#read(first);
    } catch (error) {
      this.problem = error.message;
    } finally {
      this.loading = false;
    }
  }

  /** The button has moved, or is gone: who used it goes on with the first of what came. */
  #read(seq) {
    const turn = this.querySelector(`#m-${seq}`);
    turn?.setAttribute("tabindex", "-1");
    turn?.focus({ preventScroll: true });
  }
}

async function messagesAfter(address, since) {
  const response = await fetch(`${address}?since=${since}`).catch(() => null);
  if (response?.status === 404) throw new Error(gettext("This link no longer works."));
  if (!response?.ok) throw new Error(gettext("The messages could not be loaded. Try again."));
  return response.json();
}

customElements.define("fixie-shared", FixieShared);
