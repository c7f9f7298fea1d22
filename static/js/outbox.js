/** Messages the server has not confirmed: kept through reloads of the tab, so that nothing typed is lost. */

/** An id for a message: the server stores one message for one id, however often it is sent. */
export function newClientId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** One id for one question, as JSON, for as long as nothing else is asked: sent again it is not asked twice. */
export class QuestionId {
  #question = "";
  #id;

  of(question) {
    const text = JSON.stringify(question);
    if (text !== this.#question) this.#id = newClientId();
    this.#question = text;
    return this.#id;
  }

  /** The next question is a new one, also if it is the same. */
  forget() {
    this.#question = "";
  }
}

export class Outbox {
  /** Entries `{client_id, text, if_busy, error}`, oldest first; `error` is the server's refusal, or null. */
  entries = [];

  #key;
  #storage;

  constructor(handle, storage) {
    this.#key = `fixie:outbox:${handle}`;
    this.#storage = storage;
    this.entries = read(storage, this.#key);
  }

  add(entry) {
    if (this.entries.some(({ client_id: id }) => id === entry.client_id)) return;
    this.#set([...this.entries, { if_busy: "enqueue", error: null, ...entry }]);
  }

  /** The server refused the message: it stays until the user tries again or discards it. */
  refuse(clientId, error) {
    this.#set(this.entries.map((entry) => (entry.client_id === clientId ? { ...entry, error } : entry)));
  }

  /** Forgets the message and returns it, or undefined. */
  remove(clientId) {
    const entry = this.entries.find(({ client_id: id }) => id === clientId);
    if (entry) this.#set(this.entries.filter((other) => other !== entry));
    return entry;
  }

  /** Those to be sent: not refused. */
  waiting() {
    return this.entries.filter(({ error }) => !error);
  }

  #set(entries) {
    this.entries = entries;
    try {
      this.#storage.setItem(this.#key, JSON.stringify(entries));
    } catch {
      // A full or forbidden storage costs only the survival of a reload.
    }
  }
}

function read(storage, key) {
  try {
    const entries = JSON.parse(storage.getItem(key));
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}
