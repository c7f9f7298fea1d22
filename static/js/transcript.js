/**
 * What the client knows of a session: its messages, grouped into turns (a query and all that answers it).
 *
 * Pure: frames of the socket go in, and each tells whether it changed something or shows that something is
 * missing. Turns are replaced, never changed, so that a view can compare them by identity.
 */

import { codePointLength, codePointSlice } from "./code-points.js";

const ENDED = new Set(["completed", "failed", "canceled"]);
const STEPS = new Set(["thought", "func_call", "func_output", "agent_call", "agent_output"]);

/** What `apply` answers: the view must be drawn again; nothing new; frames are missing, ask for a sync. */
export const CHANGED = "changed";
export const IGNORED = "ignored";
export const GAP = "gap";

/** `completed`, `failed`, `canceled`, `in_progress` or `queued`: an answer outweighs a lost run frame. */
export function statusOf({ status, answer }) {
  if (ENDED.has(status)) return status;
  if (answer) return answer.kind === "error" ? "failed" : "completed";
  return status ?? "queued";
}

export const isBusy = (turn) => !ENDED.has(statusOf(turn));

export class Transcript {
  /** Turns by the number of their query, oldest first. */
  turns = [];
  /** The last message of the gapless row known here, and the first. */
  lastSeq = 0;
  firstSeq = 1;
  /** The highest key of an embed in the messages known here. */
  lastKey = 0;

  #byRun = new Map();

  /** Starts from the messages a page was delivered with: the session's last ones, without a gap. */
  load({ messages, runs, last_seq: lastSeq }) {
    this.firstSeq = messages.length ? messages[0].seq : lastSeq + 1;
    for (const run of runs) this.#applyRun(run);
    for (const message of messages) this.#addMessage(message);
    this.lastSeq = lastSeq;
  }

  /** Adds the messages that end right before `firstSeq`. */
  prepend({ messages, runs }) {
    for (const run of runs) this.#applyRun(run);
    for (const message of messages) this.#addMessage(message);
    this.#end(this.turns.filter(({ status, query }) => status === null && query < this.firstSeq));
    if (messages.length) this.firstSeq = messages[0].seq;
  }

  /** `unfinished` holds every run that is not over: whatever else seems busy has ended unheard. */
  settle(unfinished) {
    this.#end(this.turns.filter((turn) => isBusy(turn) && !unfinished.has(turn.run)));
  }

  #end(turns) {
    for (const turn of turns) if (!turn.answer) this.#replace(turn, { status: "canceled", presumed: true });
  }

  /** Takes one frame of the server and returns CHANGED, IGNORED or GAP. */
  apply(frame) {
    switch (frame.type) {
      case "message":
        return this.#applyMessage(frame.message);
      case "delta":
        return this.#applyDelta(frame);
      case "snapshot":
        return this.#applySnapshot(frame);
      case "run":
        return this.#applyRun(frame);
      default:
        return IGNORED;
    }
  }

  #applyMessage(message) {
    if (message.seq <= this.lastSeq) return IGNORED;
    if (message.seq > this.lastSeq + 1) return GAP;
    this.#addMessage(message);
    this.lastSeq = message.seq;
    return CHANGED;
  }

  #addMessage(message) {
    const turn = this.#turnOf(message.run);
    const change = { agent: turn.agent ?? message.agent };
    if (message.kind === "query") {
      Object.assign(change, { question: message, query: message.seq });
    } else {
      change.query = turn.query ?? message.in_reply_to;
      if (STEPS.has(message.kind)) change.steps = inOrder([...turn.steps, message]);
      else Object.assign(change, { answer: message, agent: message.agent ?? turn.agent, text: "", length: 0 });
      if (turn.presumed) Object.assign(change, { status: null, presumed: false });
    }
    this.lastKey = Math.max(this.lastKey, ...Object.keys(message.embeds ?? {}).map(Number));
    this.#replace(turn, change);
  }

  #applyDelta({ run, offset, text }) {
    const turn = this.#byRun.get(run) ?? emptyTurn(run);
    if (!isBusy(turn)) return IGNORED;
    if (offset > turn.length) return GAP;
    const known = turn.length - offset;
    if (known > 0 && !agrees(turn.text, offset, text)) return GAP;
    const news = codePointSlice(text, known);
    if (!news) return IGNORED;
    this.#replace(turn, { text: turn.text + news, length: turn.length + codePointLength(news) });
    return CHANGED;
  }

  #applySnapshot({ run, text }) {
    const turn = this.#turnOf(run);
    if (!isBusy(turn) || turn.text === text) return IGNORED;
    this.#replace(turn, { text, length: codePointLength(text) });
    return CHANGED;
  }

  #applyRun({ run, status, query, agent, error }) {
    const turn = this.#turnOf(run);
    if (ENDED.has(turn.status) && !turn.presumed && !ENDED.has(status)) return IGNORED;
    this.#replace(turn, {
      status,
      presumed: false,
      query: query ?? turn.query,
      agent: agent ?? turn.agent,
      error: error ?? null,
    });
    return CHANGED;
  }

  #turnOf(run) {
    return this.#byRun.get(run) ?? emptyTurn(run);
  }

  #replace(turn, change) {
    const next = { ...turn, ...change };
    this.#byRun.set(next.run, next);
    const turns = this.turns.filter((other) => other.run !== next.run);
    const place = turns.findLastIndex((other) => orderOf(other) <= orderOf(next)) + 1;
    turns.splice(place, 0, next);
    this.turns = turns;
  }
}

const orderOf = (turn) => turn.query ?? Infinity;

const inOrder = (messages) => messages.sort((one, other) => one.seq - other.seq);

/**
 * `text` is the response as it streams, `length` its code points; `answer` the stored response or error;
 * `presumed` marks a status that nobody told, which any word of the run outweighs.
 */
const emptyTurn = (run) => ({
  run,
  query: null,
  question: null,
  steps: [],
  answer: null,
  text: "",
  length: 0,
  status: null,
  presumed: false,
  agent: null,
  error: null,
});

/** Whether a delta repeats what is already there: `text` at `offset`, as far as the two overlap. */
function agrees(known, offset, text) {
  const overlap = codePointSlice(known, offset);
  return overlap.startsWith(text) || text.startsWith(overlap);
}
