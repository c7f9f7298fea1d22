/** The files that go with the next message: each is uploaded as soon as it is chosen. */

import { readableSize } from "./embeds.js";
import { uploadEmbed } from "./session-api.js";

/** Fires `change`. */
export class Attachments extends EventTarget {
  /** `{key, name, size, content_type, id, progress, error}`: `id` once it is uploaded, `progress` from 0 to 1. */
  items = [];

  #storageKey;
  #uploads = new Map();

  /** What was uploaded already survives a reload, under `storageKey`. */
  constructor(storageKey) {
    super();
    this.#storageKey = storageKey;
    this.items = read(storageKey);
  }

  get uploading() {
    return this.items.some(({ id, error }) => !id && !error);
  }

  get failed() {
    return this.items.some(({ error }) => error);
  }

  /** Begins to upload files, under the next keys from `nextKey` on. */
  add(files, { nextKey, maxEmbeds, maxBytes }) {
    for (const file of files) {
      const key = Math.max(nextKey, ...this.items.map((item) => item.key + 1));
      const item = { key, name: file.name, size: file.size, content_type: file.type, progress: 0 };
      if (this.items.length >= maxEmbeds) item.error = `A message may have ${maxEmbeds} files.`;
      else if (file.size > maxBytes) item.error = `Too large: at most ${readableSize(maxBytes)}.`;
      this.#set([...this.items, item]);
      if (!item.error) this.#upload(item, file);
    }
  }

  /** Takes back what was taken: `{key: {id, …}}`. */
  restore(embeds) {
    const items = Object.entries(embeds).map(([key, embed]) => ({ ...embed, key: Number(key) }));
    this.#set([...items, ...this.items]);
  }

  remove(key) {
    this.#uploads.get(key)?.abort();
    this.#set(this.items.filter((item) => item.key !== key));
  }

  /** Hands over what is uploaded, as `{key: {id, name, content_type, size}}`, and is empty then. */
  take() {
    const done = this.items.filter(({ id }) => id);
    this.#set([]);
    return Object.fromEntries(
      done.map(({ key, id, name, content_type, size }) => [key, { id, name, content_type, size }]),
    );
  }

  async #upload({ key }, file) {
    const aborting = new AbortController();
    this.#uploads.set(key, aborting);
    try {
      const { id, content_type, size } = await uploadEmbed(file, {
        signal: aborting.signal,
        onProgress: (progress) => this.#change(key, { progress }),
      });
      this.#change(key, { id, content_type, size, progress: 1 });
    } catch (error) {
      this.#change(key, { error: error.message });
    } finally {
      this.#uploads.delete(key);
    }
  }

  #change(key, change) {
    this.#set(this.items.map((item) => (item.key === key ? { ...item, ...change } : item)));
  }

  #set(items) {
    this.items = items;
    try {
      sessionStorage.setItem(this.#storageKey, JSON.stringify(items.filter(({ id }) => id)));
    } catch {
      // A full storage costs only the survival of a reload.
    }
    this.dispatchEvent(new Event("change"));
  }
}

function read(storageKey) {
  try {
    return JSON.parse(sessionStorage.getItem(storageKey)) ?? [];
  } catch {
    return [];
  }
}
