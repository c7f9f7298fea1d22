/** The start page: a first question, whom to ask it, and files; all of it goes to the site at once. */

import "./fixie-composer.js";
import { LightElement } from "./light-element.js";
import { QuestionId } from "./outbox.js";
import { idsOf, post } from "./session-api.js";
import { gettext } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

/** Takes over from the form inside, which works without it. `data` names the page's JSON script. */
export class FixieStart extends LightElement {
  static properties = { data: {}, sending: { state: true }, problem: { state: true } };

  #questionId = new QuestionId();

  connectedCallback() {
    if (!this.page) this.#readForm();
    super.connectedCallback();
    addEventListener("pageshow", this.#onPageShow);
    document.querySelector(".starters")?.addEventListener("submit", this.#onStarter);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    removeEventListener("pageshow", this.#onPageShow);
    document.querySelector(".starters")?.removeEventListener("submit", this.#onStarter);
  }

  /** What the server put into the form, and what was done to it before this module came. */
  #readForm() {
    this.page = JSON.parse(document.getElementById(this.data).textContent);
    const field = this.querySelector("textarea");
    this.written = { text: field.value, label: field.labels[0].textContent, placeholder: field.placeholder };
    this.written.byHand = field.value !== field.defaultValue;
    this.hadFocus = document.activeElement === field || document.activeElement === document.body;
    this.picker = this.querySelector(".picker");
    // A question that a link brings takes no draft away, and has one of its own.
    this.given = new URLSearchParams(location.search).has("text") ? location.search : "";
    this.problem = [...this.querySelectorAll(".problem, .errorlist li")].map((one) => one.textContent).join(" ");
    this.refusals = 0;
  }

  render() {
    const { page, written } = this;
    return html`
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing}
      <fixie-composer
        .maxBytes=${page.message_max_bytes}
        .maxEmbeds=${page.message_max_embeds}
        .maxEmbedBytes=${page.embed_max_bytes}
        .quota=${page.quota}
        .refusals=${this.refusals}
        .nextKey=${() => 1}
        .label=${written.label}
        .placeholder=${written.placeholder}
        .draftKey=${`fixie:draft:${page.user}:new${this.given}`}
        .lead=${this.picker}
        .sending=${this.sending}
        .status=${this.sending ? gettext("Asking…") : ""}
        @send=${this.#onSend}
      ></fixie-composer>
    `;
  }

  async firstUpdated() {
    this.composer = this.querySelector("fixie-composer");
    await this.composer.updateComplete;
    const { text, byHand } = this.written;
    if (text && (byHand || !this.composer.text)) this.composer.fill(text);
    if (this.hadFocus) this.composer.focus();
    if (this.page.ask) this.#begin({ text, agent: this.#agent }, this.composer);
  }

  get #agent() {
    return this.picker.querySelector("select").value || null;
  }

  #onSend = (event) => {
    // It stays written until the site has it.
    event.preventDefault();
    const { text, embeds } = event.detail;
    this.#begin({ text, agent: this.#agent, embeds: idsOf(embeds) }, this.composer);
  };

  #onStarter = (event) => {
    event.preventDefault();
    const { text, agent } = Object.fromEntries(new FormData(event.target));
    this.#begin({ text, agent }, event.target.querySelector("button"));
  };

  /** Asks, and goes to the answer; `source` has the focus where it does not come to that. */
  async #begin(question, source) {
    if (this.sending) return;
    this.sending = true;
    this.problem = "";
    source.setAttribute("aria-busy", "true");
    try {
      const { session } = await post("/api/sessions/begin", { ...question, client_id: this.#questionId.of(question) });
      if (source === this.composer) source.clear();
      location.assign(`/sessions/${session}`);
    } catch (error) {
      this.#onRefused(error, source);
    }
  }

  async #onRefused({ code, message }, source) {
    if (code !== "unreachable") this.#questionId.forget();
    source.removeAttribute("aria-busy");
    this.refusals += 1;
    this.problem = message;
    this.sending = false;
    await this.updateComplete;
    source.focus();
  }

  /** Back from the answer, in a page that was kept. */
  #onPageShow = ({ persisted }) => {
    if (!persisted) return;
    this.sending = false;
    this.#questionId.forget();
    for (const busy of document.querySelectorAll("[aria-busy=true]")) busy.removeAttribute("aria-busy");
  };
}

customElements.define("fixie-start", FixieStart);
