/** The conversation of a session: its turns, what waits to be sent, and the composer. */

import "./fixie-composer.js";
import "./fixie-turn.js";
import { BottomPin } from "./bottom-pin.js";
import { beginning, connection, earlierButton, end, isOver, latestButton, unsent } from "./chat-parts.js";
import { EarlierMessages } from "./earlier-messages.js";
import { explain } from "./errors.js";
import { LightElement } from "./light-element.js";
import { Outbox, QuestionId } from "./outbox.js";
import { mark, placeOf, seqIn } from "./places.js";
import { idsOf, post } from "./session-api.js";
import { tell } from "./session-news.js";
import { SessionSocket } from "./session-socket.js";
import { fill, gettext } from "./texts.js";
import { isBusy, statusOf, Transcript } from "./transcript.js";
import { html, nothing, repeat } from "../vendor/lit.js";

/** The word on how a run ended comes right behind its answer. */
const LAST_WORD_MS = 150;
/** Turns are drawn at most once a frame; a hidden tab has no frames and is drawn this often. */
const HIDDEN_FRAME_MS = 250;

/** `data` names the JSON script that `sessions_app.views.session` delivers with the page. */
export class FixieChat extends LightElement {
  static properties = {
    data: {},
    stopping: { state: true },
    problem: { state: true },
    branching: { state: true },
    refusals: { state: true },
  };

  #transcript = new Transcript();
  /** Not known at first: the list may hold a session for busy that was done before this page came. */
  #wasBusy;
  /** What comes before this message is drawn when the reader comes near. */
  #firstDrawn = 0;
  #branchId = new QuestionId();
  #listeners = new AbortController();

  connectedCallback() {
    super.connectedCallback();
    const page = JSON.parse(document.getElementById(this.data).textContent);
    this.page = page;
    this.refusals = 0;
    // Where attachments find out whose fresh links to ask for.
    this.dataset.session = page.handle;
    this.#transcript.load(page);
    this.#firstDrawn = this.#transcript.firstSeq;
    const onNear = () => this.pin && !this.problem && this.#onEarlier();
    this.earlier = new EarlierMessages(this, { handle: page.handle, transcript: this.#transcript, onNear });
    this.outbox = new Outbox(page.handle, sessionStorage);
    this.#openSocket();
    const { signal } = this.#listeners;
    document.addEventListener("keydown", this.#onKeyDown, { signal });
    // Back from a branch.
    addEventListener("pageshow", () => (this.branching = false), { signal });
    addEventListener("hashchange", () => this.#goTo(seqIn(location.hash)), { signal });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.socket.stop();
    this.pin.stop();
    this.#listeners.abort();
  }

  #openSocket() {
    const url = new URL(`/ws/sessions/${this.page.handle}`, location.href);
    url.protocol = url.protocol.replace("http", "ws");
    this.socket = new SessionSocket({ url: url.href, transcript: this.#transcript, outbox: this.outbox });
    this.socket.addEventListener("change", () => this.requestUpdate());
    this.socket.addEventListener("change", () => this.#tellWhetherBusy(this.page.handle));
    this.socket.addEventListener("state", () => this.requestUpdate());
    this.socket.addEventListener("problem", ({ detail }) => this.#onProblem(detail));
    this.socket.addEventListener("refused", () => (this.refusals += 1));
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
      <section class="turns" aria-label=${gettext("Conversation")} tabindex="-1">
        ${firstSeq > 1 ? earlierButton(this.earlier.loading, () => this.#onEarlier()) : nothing}
        <ol
          @retry=${({ detail }) => this.#send(detail)}
          @reask=${this.#onReask}
          @edit=${({ detail }) => this.composer.edit(detail)}
          @withdraw=${this.#onWithdraw}
          @tell=${({ detail }) => this.#announce(detail)}
        >
          ${repeat(turns, ({ run }) => run, (turn) => this.#turn(turn))}
          ${repeat(this.outbox.entries, ({ client_id: id }) => id, (entry) => html`<li>${this.#unsent(entry)}</li>`)}
        </ol>
        ${turns.length || this.outbox.entries.length ? nothing : beginning(this.page.agent)}
      </section>
      ${this.#dock(turns)}
      <div class="visually-hidden announcer" aria-live="polite"></div>
    `;
  }

  #turn(turn) {
    const branches = this.page.branches?.[turn.query];
    const id = turn.query === null ? nothing : `m-${turn.query}`;
    const lazy = turn.query < this.#firstDrawn;
    return html`<li><fixie-turn id=${id} .turn=${turn} .branches=${branches} ?lazy=${lazy}></fixie-turn></li>`;
  }

  #dock(turns) {
    const { page, socket } = this;
    return html`<div class="dock">
      ${this.pin && !this.pin.pinned ? latestButton(() => this.#onLatest()) : nothing}
      ${this.problem ? html`<p class="problem" role="alert">${this.problem}</p>` : nothing} ${end(socket.state)}
      <fixie-composer
        .busy=${turns.some(isBusy)}
        .stopping=${this.stopping !== undefined}
        .sending=${Boolean(this.branching)}
        .closed=${isOver(socket.state)}
        .maxBytes=${page.message_max_bytes}
        .maxEmbeds=${page.message_max_embeds}
        .maxEmbedBytes=${page.embed_max_bytes}
        .quota=${page.quota}
        .refusals=${this.refusals}
        .nextKey=${() => Math.max(page.next_embed_key, this.#transcript.lastKey + 1)}
        .placeholder=${page.agent ? fill(gettext("Ask %(agent)s"), { agent: page.agent }) : gettext("Ask anything")}
        .draftKey=${`fixie:draft:${page.handle}`}
        .status=${connection(socket.state)}
        .calm=${socket.state === "online"}
        @send=${this.#onSend}
        @stop=${this.#onStop}
        @edit-last=${this.#onEditLast}
        @cancel-edit=${() => this.composer.focus()}
      ></fixie-composer>
    </div>`;
  }

  async firstUpdated() {
    this.composer = this.querySelector("fixie-composer");
    this.pin = new BottomPin(this.querySelector(".turns"), () => this.requestUpdate());
    await this.composer.updateComplete;
    const seq = seqIn(location.hash);
    if (seq) await this.#goTo(seq);
    else this.composer.focus();
  }

  #unsent(entry) {
    const { client_id: id } = entry;
    return unsent(entry, { onResend: () => this.socket.resend(id), onEdit: () => this.#onEdit(id) });
  }

  #onSend(event) {
    const { branch, ifBusy, ...message } = event.detail;
    if (branch === undefined) {
      this.#send(message, ifBusy);
    } else {
      // It stays written until the branch is there.
      event.preventDefault();
      this.#branch({ seq: branch, ...message });
    }
  }

  #send(message, ifBusy) {
    this.problem = undefined;
    if (this.#transcript.turns.some(isBusy) && ifBusy !== "interrupt") {
      this.#announce(gettext("Your question waits for its turn."));
    }
    this.socket.send(message, ifBusy);
    this.pin.jump();
    this.composer.focus();
  }

  /** A changed question is asked in a session of its own, which begins like this one. */
  async #branch({ seq, text, embeds }) {
    if (this.branching) return;
    this.branching = true;
    this.problem = undefined;
    try {
      const question = { seq, text, embeds: idsOf(embeds) };
      const id = this.#branchId.of(question);
      const made = await post(`/api/sessions/${this.page.handle}/branches`, { ...question, client_id: id });
      this.#branchId.forget();
      this.composer.clear();
      location.assign(`/sessions/${made.session}`);
    } catch (error) {
      this.branching = false;
      this.#onProblem(error);
    }
  }

  #onProblem(error) {
    this.problem = explain(error).text;
  }

  #onEdit(clientId) {
    const { text, embeds } = this.outbox.remove(clientId);
    this.composer.fill(text, embeds);
    this.composer.focus();
    this.requestUpdate();
  }

  #onEditLast() {
    const last = this.#transcript.turns.findLast(({ question }) => question?.kind === "query");
    if (last) this.composer.edit({ seq: last.query, text: last.question.text, embeds: last.question.embeds });
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

  #onWithdraw({ detail: run }) {
    if (!this.socket.cancel(run)) return;
    this.#announce(gettext("Your question was taken back."));
    this.composer.focus();
  }

  async #onEarlier() {
    if (this.earlier.loading) return;
    this.problem = undefined;
    try {
      await this.earlier.more();
      if (this.#transcript.firstSeq === 1 && document.activeElement?.closest(".earlier")) {
        this.querySelector(".turns").focus({ preventScroll: true });
      }
    } catch (error) {
      this.#onProblem(error);
    }
  }

  /** Shows the message `seq`, for which all that is between is loaded. */
  async #goTo(seq) {
    if (!seq) return;
    this.pin.release();
    try {
      await this.earlier.backTo(seq);
    } catch (error) {
      this.#onProblem(error);
      return;
    }
    await this.updateComplete;
    mark(placeOf(seq, this.#transcript.turns));
  }

  /** Tells a screen reader the answer: once, when it is whole. */
  async #onEnded({ run }) {
    if (this.stopping === run) this.stopping = undefined;
    await new Promise((resolve) => setTimeout(resolve, LAST_WORD_MS));
    await this.updateComplete;
    const turn = [...this.querySelectorAll("fixie-turn")].find((element) => element.turn.run === run);
    await turn.updateComplete;
    const stopped = statusOf(turn.turn) === "canceled";
    this.#announce(`${stopped ? `${gettext("Stopped")}. ` : ""}${turn.announcement}`);
  }

  #announce(text) {
    const news = document.createElement("p");
    news.textContent = text;
    this.querySelector(".announcer").replaceChildren(news);
  }

  /** Told to the list of sessions, here and in other tabs. */
  #tellWhetherBusy(handle) {
    const busy = this.#transcript.turns.some(isBusy);
    if (busy === this.#wasBusy) return;
    this.#wasBusy = busy;
    tell(busy ? { handle, busy, active: new Date().toISOString() } : { handle, busy });
  }

  updated() {
    this.pin?.settle();
  }
}

customElements.define("fixie-chat", FixieChat);
