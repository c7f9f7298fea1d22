/**
 * The connection to one session: opens, resumes where it left off, and sends each message exactly once.
 *
 * Events: `change` (the transcript or the outbox changed), `state` (`state` is new), `problem` (detail: the
 * server's `{code, message}`, for no message of ours), `refused` (the same, for one of ours), `ended` (detail: the
 * turn a run has just ended).
 */

import { newClientId } from "./outbox.js";
import { tell } from "./session-news.js";
import { CHANGED, GAP, isBusy } from "./transcript.js";

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
const SYNC_EVERY_MS = 1_000;
const PROBE_MS = 5_000;
/** Close codes of a server that will not have us. */
const REFUSALS = { 4401: "signed_out", 4404: "gone" };
const UNFINISHED = new Set(["queued", "in_progress"]);

/** `connecting` at first, `online`, `waiting` between tries, or for good `signed_out` or `gone`. */
export class SessionSocket extends EventTarget {
  state = "connecting";

  #url;
  #transcript;
  #outbox;
  #socket = null;
  #failures = 0;
  #synced = false;
  #timer = null;
  #probe = null;
  #syncTimer = null;
  /** Runs that the server named unfinished since it last said `synced`. */
  #unfinished = new Set();
  #listeners = new AbortController();

  constructor({ url, transcript, outbox }) {
    super();
    this.#url = url;
    this.#transcript = transcript;
    this.#outbox = outbox;
  }

  start() {
    const { signal } = this.#listeners;
    addEventListener("online", () => this.#wake(), { signal });
    addEventListener("pageshow", () => this.#wake(), { signal });
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake(), { signal });
    this.#connect();
  }

  stop() {
    this.#listeners.abort();
    this.#drop();
  }

  /**
   * Keeps a message until the server has it, sends it as soon as there is a connection, returns its client id.
   * `embeds` were uploaded before: `{key: {id, …}}`.
   */
  send({ text, embeds = {} }, ifBusy = "enqueue", clientId = newClientId()) {
    this.#outbox.add({ client_id: clientId, text, embeds, if_busy: ifBusy });
    this.#deliver(this.#outbox.waiting().filter(({ client_id: id }) => id === clientId));
    this.#emit("change");
    return clientId;
  }

  /** Sends a refused message again. */
  resend(clientId) {
    this.#outbox.refuse(clientId, null);
    this.#deliver(this.#outbox.waiting().filter(({ client_id: id }) => id === clientId));
    this.#emit("change");
  }

  /** Asks the server to stop `run`; false where there is no connection to ask over. */
  cancel(run) {
    return this.#write({ type: "cancel", run });
  }

  #connect() {
    this.#drop();
    const socket = new WebSocket(`${this.#url}?since=${this.#transcript.lastSeq}`);
    this.#socket = socket;
    socket.onmessage = ({ data }) => socket === this.#socket && this.#receive(JSON.parse(data));
    socket.onclose = ({ code }) => socket === this.#socket && this.#lost(code);
  }

  /** Lets go of the present socket and of everything waiting for it. */
  #drop() {
    clearTimeout(this.#timer);
    clearTimeout(this.#probe);
    this.#probe = null;
    this.#synced = false;
    this.#syncAnswered();
    this.#unfinished.clear();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #lost(code) {
    if (code in REFUSALS) {
      this.#giveUp(REFUSALS[code]);
      return;
    }
    this.#failures = this.#synced ? 1 : this.#failures + 1;
    this.#drop();
    this.#setState("waiting");
    const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (this.#failures - 1));
    this.#timer = setTimeout(() => this.#connect(), delay * (0.5 + Math.random() / 2));
  }

  #giveUp(state) {
    this.#listeners.abort();
    this.#drop();
    this.#setState(state);
  }

  /** The network or the tab is back: connect now, or make sure that the connection still lives. */
  #wake() {
    if (!this.#socket) {
      this.#failures = 0;
      this.#connect();
    } else if (this.#synced && this.#probe === null) {
      this.#write({ type: "sync", since: this.#transcript.lastSeq });
      this.#probe = setTimeout(() => this.#connect(), PROBE_MS);
    }
  }

  #receive(frame) {
    clearTimeout(this.#probe);
    this.#probe = null;
    if (frame.type === "synced") this.#onSynced();
    else if (frame.type === "error") this.#onError(frame);
    else this.#onFrame(frame);
  }

  #onSynced() {
    this.#syncAnswered();
    this.#transcript.settle(this.#unfinished);
    this.#unfinished.clear();
    this.#emit("change");
    if (this.#synced) return;
    this.#synced = true;
    this.#setState("online");
    this.#deliver(this.#outbox.waiting());
  }

  #onError({ code, message, details, client_id: clientId }) {
    const error = { code, message, details };
    if (code === "unauthenticated") this.#giveUp("signed_out");
    if (code === "not_found" && details?.field === "session") this.#giveUp("gone");
    if (clientId) {
      this.#outbox.refuse(clientId, error);
      this.#emit("refused", error);
      this.#emit("change");
    } else if (this.#socket) {
      this.#emit("problem", error);
    }
  }

  #onFrame(frame) {
    if (frame.type === "session") {
      tell(frame.deleted ? { handle: frame.session, gone: true } : { handle: frame.session, title: frame.title });
      return;
    }
    const run = frame.run ?? frame.message?.run;
    if (frame.type === "run" && UNFINISHED.has(frame.status)) this.#unfinished.add(run);
    const wasBusy = this.#isBusy(run);
    const confirmed = this.#outbox.remove(frame.message?.client_id);
    const outcome = this.#transcript.apply(frame);
    if (outcome === GAP) this.#sync();
    if (outcome === CHANGED && frame.type !== "delta" && frame.type !== "run") this.#syncAnswered();
    if (outcome === CHANGED || confirmed) this.#emit("change");
    if (wasBusy && !this.#isBusy(run)) this.#emit("ended", this.#turn(run));
  }

  /** Asks for what is missing: once, and again only if the answer does not come. */
  #sync() {
    if (this.#syncTimer !== null) return;
    this.#write({ type: "sync", since: this.#transcript.lastSeq });
    this.#syncTimer = setTimeout(() => this.#syncAgain(), SYNC_EVERY_MS);
  }

  #syncAgain() {
    this.#syncTimer = null;
    this.#sync();
  }

  #syncAnswered() {
    clearTimeout(this.#syncTimer);
    this.#syncTimer = null;
  }

  #deliver(entries) {
    if (!this.#synced) return;
    for (const { client_id, text, embeds, if_busy } of entries) {
      const ids = Object.entries(embeds ?? {}).map(([key, { id }]) => [key, { id }]);
      const more = ids.length ? { embeds: Object.fromEntries(ids) } : {};
      this.#write({ type: "message", text, client_id, if_busy, ...more });
    }
  }

  #write(frame) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  #turn(run) {
    return this.#transcript.turns.find((turn) => turn.run === run);
  }

  #isBusy(run) {
    const turn = this.#turn(run);
    return turn !== undefined && isBusy(turn);
  }

  #setState(state) {
    if (this.state === state) return;
    this.state = state;
    this.#emit("state");
  }

  #emit(type, detail = null) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
