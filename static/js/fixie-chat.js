/** The conversation of a session: its turns, what waits to be sent, and the composer. */

import "./fixie-composer.js";
import { BottomPin } from "./bottom-pin.js";
import { query } from "./fixie-turn.js";
import { LightElement } from "./light-element.js";
import { Outbox } from "./outbox.js";
import { earlierMessages } from "./session-api.js";
import { SessionSocket } from "./session-socket.js";
import { isBusy, statusOf, Transcript } from "./transcript.js";
import { html, nothing, repeat } from "../vendor/lit.js";

const PAGE = 200;
/** Turns are drawn at most once a frame; a hidden tab has no frames and is drawn this often. */
const HIDDEN_FRAME_MS = 250;

const STATES = {
  connecting: "Connecting…",
  online: "Connected",
  waiting: "Connection lost. Trying again…",
  offline: "You are offline. What you send is kept until you are back.",
  signed_out: "You are signed out. Reload the page to sign in.",
  gone: "This session no longer exists.",
};

/** `data` names the JSON script that `sessions_app.views.session` delivers with the page. */
export class FixieChat extends LightElement {
  static properties = { data: {}, stopping: { state: true }, problem: { state: true }, loading: { state: true } };

  #transcript = new Transcript();

  connectedCallback() {
    super.connectedCallback();
    const page = JSON.parse(document.getElementById(this.data).textContent);
    this.page = page;
    this.#transcript.load(page);
    this.outbox = new Outbox(page.handle, sessionStorage);
    this.#openSocket();
    document.addEventListener("keydown", this.#onKeyDown);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.socket.stop();
    this.pin.stop();
    document.removeEventListener("keydown", this.#onKeyDown);
  }

  #openSocket() {
    const url = new URL(`/ws/sessions/${this.page.handle}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    this.socket = new SessionSocket({ url: url.href, transcript: this.#transcript, outbox: this.outbox });
    this.socket.addEventListener("change", () => this.requestUpdate());
    this.socket.addEventListener("state", () => this.requestUpdate());
    this.socket.addEventListener("problem", ({ detail }) => (this.problem = detail));
    this.socket.addEventListener("ended", ({ detail }) => this.#onEnded(detail));
    this.socket.start();
  }

  async scheduleUpdate() {
    await new Promise((resolve) => {
      requestAnimationFrame(resolve);
      setTimeout(resolve, HIDDEN_FRAME_MS);
    });
    super.scheduleUpdate();
  }

  render() {
    const { turns, firstSeq } = this.#transcript;
    return html`
      <section class="turns" aria-label="Conversation" tabindex="-1">
        ${firstSeq > 1 ? this.#earlier() : nothing}
        <ol @retry=${({ detail }) => this.#send(detail)} @reask=${this.#onReask}>
          ${repeat(turns, ({ run }) => run, (turn) => html`<li><fixie-turn .turn=${turn}></fixie-turn></li>`)}
          ${repeat(this.outbox.entries, ({ client_id: id }) => id, (entry) => html`<li>${this.#unsent(entry)}</li>`)}
        </ol>
        ${turns.length || this.outbox.entries.length ? nothing : this.#beginning()}
      </section>
      <div class="dock">
        ${this.pin && !this.pin.pinned ? this.#latest() : nothing}
        ${this.problem ? html`<p class="problem" role="alert">${this.problem.message}</p>` : nothing}
        <fixie-composer
          .busy=${turns.some(isBusy)}
          .stopping=${this.stopping !== undefined}
          .closed=${["signed_out", "gone"].includes(this.socket.state)}
          .maxBytes=${this.page.message_max_bytes}
          .maxEmbeds=${this.page.message_max_embeds}
          .maxEmbedBytes=${this.page.embed_max_bytes}
          .nextKey=${() => Math.max(this.page.next_embed_key, this.#transcript.lastKey + 1)}
          .placeholder=${this.page.agent ? `Ask ${this.page.agent}` : "Ask anything"}
          .draftKey=${`fixie:draft:${this.page.handle}`}
          .status=${this.#connection()}
          @send=${({ detail }) => this.#send(detail)}
          @stop=${this.#onStop}
        ></fixie-composer>
      </div>
      <div class="visually-hidden announcer" aria-live="polite"></div>
    `;
  }

  firstUpdated() {
    this.composer = this.querySelector("fixie-composer");
    this.pin = new BottomPin(this.querySelector(".turns"), () => this.requestUpdate());
    this.composer.updateComplete.then(() => this.composer.focus());
  }

  #connection() {
    const lost = this.socket.state === "waiting" && !navigator.onLine;
    return STATES[lost ? "offline" : this.socket.state];
  }

  #beginning() {
    return html`<p class="nothing">
      ${this.page.agent ? `${this.page.agent} answers here.` : "Ask anything: Fixie finds the agents that can help."}
      Begin with <kbd>@owner/handle</kbd> to ask ${this.page.agent ? "another agent" : "one that you choose"}.
    </p>`;
  }

  #earlier() {
    return html`<p class="earlier">
      <button type="button" class="small" aria-disabled=${Boolean(this.loading)} @click=${this.#onEarlier}>
        ${this.loading ? "Loading…" : "Show earlier messages"}
      </button>
    </p>`;
  }

  #latest() {
    return html`<button type="button" class="latest small" @click=${this.#onLatest}>
      Latest <span aria-hidden="true">↓</span>
    </button>`;
  }

  #unsent({ client_id: id, text, embeds, error }) {
    return html`${query({ text, embeds })}
      ${error
        ? html`<div class="refused" role="alert">
            <p>${error.message}</p>
            <button type="button" class="small" @click=${() => this.socket.resend(id)}>Try again</button>
            <button type="button" class="small" @click=${() => this.#onEdit(id)}>Edit</button>
          </div>`
        : html`<p class="byline"><span class="state">Sending…</span></p>`}`;
  }

  #send(message) {
    this.problem = undefined;
    this.socket.send(message);
    this.pin.jump();
    this.composer.focus();
  }

  #onEdit(clientId) {
    const { text, embeds } = this.outbox.remove(clientId);
    this.composer.fill(text, embeds);
    this.composer.focus();
    this.requestUpdate();
  }

  #onReask({ detail }) {
    this.#announce(detail);
    this.#onLatest();
  }

  #onLatest() {
    this.pin.jump();
    this.composer.focus();
  }

  #onKeyDown = (event) => {
    if (event.key !== "Escape" || event.isComposing || document.querySelector("dialog[open]")) return;
    this.#onStop();
  };

  #onStop() {
    const busy = this.#transcript.turns.filter(isBusy);
    const turn = busy.find((one) => statusOf(one) === "in_progress") ?? busy[0];
    if (turn && this.stopping === undefined && this.socket.cancel(turn.run)) this.stopping = turn.run;
  }

  async #onEarlier() {
    if (this.loading) return;
    this.loading = true;
    try {
      const page = await earlierMessages(this.page.handle, this.#transcript.firstSeq, PAGE);
      this.pin.keepPlace();
      this.#transcript.prepend(page);
      if (this.#transcript.firstSeq === 1) this.querySelector(".turns").focus({ preventScroll: true });
    } catch (error) {
      this.problem = { message: error.message };
    } finally {
      this.loading = false;
    }
  }

  /** Tells a screen reader the answer: once, when it is whole. */
  async #onEnded({ run }) {
    const stopped = this.stopping === run;
    if (stopped) this.stopping = undefined;
    await this.updateComplete;
    const turn = [...this.querySelectorAll("fixie-turn")].find((element) => element.turn.run === run);
    await turn.updateComplete;
    this.#announce(`${stopped ? "Stopped. " : ""}${turn.announcement}`);
  }

  #announce(text) {
    const news = document.createElement("p");
    news.textContent = text;
    this.querySelector(".announcer").replaceChildren(news);
  }

  updated() {
    this.pin?.follow();
  }
}

customElements.define("fixie-chat", FixieChat);
