/**
 * What the client knows of a session: its messages, grouped into turns (a query and all that answers it).
 *
 * Where an agent asks another, what that one does is a turn too, among the `children` of the turn that asks.
 *
 * Pure: frames of the socket go in, and each tells whether it changed something or shows that something is
 * missing. Turns are replaced, never changed, so that a view can compare them by identity.
 */

import { codePointLength, codePointSlice } from "./code-points.js";

const ENDED = new Set(["completed", "failed", "canceled"]);
const QUERIES = new Set(["query", "agent_call"]);
const STEPS = new Set(["thought", "func_call", "func_output"]);

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

/** The same, and `withdrawn` for what was taken back before anybody began with it. */
export function standingOf(turn) {
  const status = statusOf(turn);
  const untouched = turn.created && !turn.started && !turn.presumed && !turn.answer;
  return status === "canceled" && untouched ? "withdrawn" : status;
}

export const isBusy = (turn) => !ENDED.has(statusOf(turn));

export class Transcript {
  /** What people asked: turns by the number of their query, oldest first. */
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
    this.#end([...this.#byRun.values()].filter(({ run }) => !unfinished.has(run)));
  }

  #end(turns) {
    for (const { run } of turns) {
      // As it is now: ending one ends those below it.
      const turn = this.#turnOf(run);
      if (isBusy(turn)) this.#replace(turn, { status: "canceled", presumed: true });
    }
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
    const change = {};
    if (QUERIES.has(message.kind)) {
      Object.assign(change, { question: message, query: message.seq });
      if (message.kind === "agent_call") change.parent = turn.parent ?? this.#runAnswering(message.in_reply_to);
    } else {
      change.query = turn.query ?? message.in_reply_to;
      change.agent = turn.agent ?? message.agent;
      if (STEPS.has(message.kind)) change.steps = inOrder([...turn.steps, message]);
      else Object.assign(change, answered(turn, message));
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

  #applyRun({ run, status, parent, query, agent, error, ...told }) {
    const turn = this.#turnOf(run);
    if (ENDED.has(turn.status) && !turn.presumed && !ENDED.has(status)) return IGNORED;
    this.#replace(turn, {
      status,
      presumed: false,
      parent: parent ?? null,
      query: query ?? turn.query,
      agent: agent ?? turn.agent,
      error: error ?? null,
      ...measuresOf(told, turn),
    });
    return CHANGED;
  }

  #runAnswering(query) {
    return [...this.#byRun.values()].find((turn) => turn.query === query)?.run;
  }

  #turnOf(run) {
    return this.#byRun.get(run) ?? emptyTurn(run);
  }

  #replace(turn, change) {
    const next = { ...turn, ...change };
    this.#byRun.set(next.run, next);
    if (next.parent) this.#placeBelow(next);
    else if (!isOrphan(next)) this.turns = placed(this.turns, next);
    // Nothing goes on below a run that is over.
    if (!isBusy(next)) this.#end(next.children.filter(isBusy));
  }

  /** Nothing of a tree of turns is changed: the turn above a new one is new too, up to the top. */
  #placeBelow(turn) {
    this.turns = this.turns.filter(({ run }) => run !== turn.run);
    const parent = this.#turnOf(turn.parent);
    this.#replace(parent, { children: placed(parent.children, turn) });
  }
}

/** Whose place is not known: nothing but what it asked, or not for whom it was asked, until more is told. */
const isOrphan = ({ parent, query, question }) =>
  query === null || (parent === undefined && question?.kind === "agent_call");

function placed(turns, turn) {
  const others = turns.filter(({ run }) => run !== turn.run);
  others.splice(others.findLastIndex(({ query }) => query <= turn.query) + 1, 0, turn);
  return others;
}

/** An answer comes when its run is over, of which a client that joins later hears nothing else. */
const answered = (turn, answer) => ({
  answer,
  agent: answer.agent ?? turn.agent,
  finished: turn.finished ?? answer.created,
  text: "",
  length: 0,
});

/** Not everybody who tells of a run knows all of them; what was told once holds. */
const measuresOf = (told, turn) =>
  Object.fromEntries(["created", "started", "finished", "tokens"].map((name) => [name, told[name] ?? turn[name]]));

const inOrder = (messages) => messages.sort((one, other) => one.seq - other.seq);

/**
 * `text` is the response as it streams, `length` its code points; `answer` the stored response or error;
 * `parent` the run of the turn above, null for what a person asked, undefined while that is not known;
 * `presumed` marks a status that nobody told, which any word of the run outweighs; `created`, `started` and `finished`
 * are ISO times, null while not known, as is the number of `tokens`.
 */
const emptyTurn = (run) => ({
  run,
  parent: undefined,
  query: null,
  question: null,
  steps: [],
  children: [],
  answer: null,
  text: "",
  length: 0,
  status: null,
  presumed: false,
  agent: null,
  error: null,
  created: null,
  started: null,
  finished: null,
  tokens: null,
});

/** Whether a delta repeats what is already there: `text` at `offset`, as far as the two overlap. */
function agrees(known, offset, text) {
  const overlap = codePointSlice(known, offset);
  return overlap.startsWith(text) || text.startsWith(overlap);
}
