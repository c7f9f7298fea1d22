/** The files that go with the next message: each is uploaded as soon as it is chosen. */

import { readableSize } from "./embeds.js";
import { uploadEmbed } from "./session-api.js";
import { fill, gettext, ngettext } from "./texts.js";

export class Attachments {
  /**
   * `{key, name, size, content_type, id, progress, error, uri}`: `id` once it is uploaded, `progress` from 0 to 1,
   * `uri` of a picture to show.
   */
  items = [];

  #files = new Map();
  #uploads = new Map();
  #looking = 0;

  /** Is called after every change of `items`. */
  onchange = () => {};

  /** `items` were uploaded before. */
  constructor(items = []) {
    this.items = items;
  }

  /** Whether files are on their way, or being looked at before they are. */
  get uploading() {
    return this.#looking > 0 || this.items.some(({ id, error }) => !id && !error);
  }

  get failed() {
    return this.items.some(({ error }) => error);
  }

  /** What a reload can bring back. */
  get lasting() {
    const done = this.items.filter(({ id }) => id);
    return done.map(({ key, id, name, content_type, size }) => ({ key, id, name, content_type, size }));
  }

  /**
   * Begins to upload files, under the next keys from `nextKey` on. Returns those that the site would not take:
   * `[{name, problem}]`.
   */
  async add(files, { nextKey, maxEmbeds, maxBytes }) {
    this.#looking += 1;
    this.onchange();
    try {
      const { problemOf } = await import("./file-checks.js");
      const refused = [];
      for (const file of files) {
        const problem = this.items.length < maxEmbeds ? await problemOf(file, maxBytes) : full(maxEmbeds);
        if (problem) refused.push({ name: file.name, problem });
        else this.#begin(file, nextKey);
      }
      return refused;
    } finally {
      this.#looking -= 1;
    }
  }

  /** Tries a file again that did not go up. */
  retry(key) {
    this.#change(key, { error: undefined, progress: 0 });
    this.#upload(key);
  }

  /** Takes back what was handed over: `{key: {id, …}}`. */
  restore(embeds) {
    this.#set([...itemsOf(embeds), ...this.items]);
  }

  remove(key) {
    this.#forget(key);
    this.#set(this.items.filter((item) => item.key !== key));
  }

  clear() {
    for (const { key } of this.items) this.#forget(key);
    this.#set([]);
  }

  /** What is uploaded, as `{key: {id, name, content_type, size}}`. */
  get embeds() {
    return Object.fromEntries(this.lasting.map(({ key, ...embed }) => [key, embed]));
  }

  #begin(file, nextKey) {
    const key = Math.max(nextKey, ...this.items.map((item) => item.key + 1));
    const item = { key, name: file.name, size: file.size, content_type: file.type, progress: 0 };
    if (file.type.startsWith("image/")) item.uri = URL.createObjectURL(file);
    this.#files.set(key, file);
    this.#set([...this.items, item]);
    this.#upload(key);
  }

  async #upload(key) {
    const aborting = new AbortController();
    this.#uploads.set(key, aborting);
    try {
      const { id, content_type, name, size } = await uploadEmbed(this.#files.get(key), {
        signal: aborting.signal,
        onProgress: (progress) => this.#change(key, { progress }),
      });
      this.#change(key, { id, content_type, name, size, progress: 1 });
    } catch (error) {
      this.#change(key, { error: wordsOf(error) });
    }
  }

  /** Lets go of what is held for an item: its upload and its picture. */
  #forget(key) {
    this.#uploads.get(key)?.abort();
    this.#uploads.delete(key);
    this.#files.delete(key);
    const { uri } = this.items.find((item) => item.key === key) ?? {};
    if (uri?.startsWith("blob:")) URL.revokeObjectURL(uri);
  }

  #change(key, change) {
    this.#set(this.items.map((item) => (item.key === key ? { ...item, ...change } : item)));
  }

  #set(items) {
    this.items = items;
    this.onchange();
  }
}

/** The items of embeds `{key: {id, …}}` of a message. */
export const itemsOf = (embeds) =>
  Object.entries(embeds ?? {}).map(([key, embed]) => ({ ...embed, name: embed.name || embed.content_type, key: Number(key) }));

/** The site says in bytes what is used of the room of all files of a user. */
function wordsOf({ message, details }) {
  if (details?.used === undefined) return message;
  const room = readableSize(details.limit);
  return fill(gettext("There is no room for it: all your files together may have %(room)s."), { room });
}

const full = (n) => fill(ngettext("A message may have %(n)s file.", "A message may have %(n)s files.", n), { n });
