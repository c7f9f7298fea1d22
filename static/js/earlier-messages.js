/** What stands before the messages of a page: loaded as the reader comes near, or because one of them is wanted. */

import { earlierMessages } from "./session-api.js";

const PAGE = 100;
/** So many are loaded at a time for who wants to go to one of them. */
const LEAP = 500;
/** They are loaded when a reader comes so near to them, in pixels. */
const NEAR_PX = 2400;

/** A controller of `host`, a Lit element with a `pin` (BottomPin) and an `.earlier` above its turns while there are more. */
export class EarlierMessages {
  /** Whether `more` has something on its way. */
  loading = false;

  #host;
  #handle;
  #transcript;
  #observer;
  #watched = "";
  /** Messages that have come and are to be drawn above. */
  #page = null;
  #onItsWay = null;

  /** `onNear` is called when the reader comes near; it has to call `more`. */
  constructor(host, { handle, transcript, onNear }) {
    this.#host = host;
    this.#handle = handle;
    this.#transcript = transcript;
    const onSeen = (entries) => entries.some(({ isIntersecting }) => isIntersecting) && onNear();
    this.#observer = new IntersectionObserver(onSeen, { rootMargin: `${NEAR_PX}px 0px 0px` });
    host.addController(this);
  }

  /** Loads and draws one page more. */
  async more() {
    this.#setLoading(true);
    try {
      await this.#load(PAGE);
    } finally {
      this.#setLoading(false);
    }
  }

  /** Loads and draws all back to the message `seq`. */
  async backTo(seq) {
    while (this.#transcript.firstSeq > Math.max(seq, 1)) await this.#load(LEAP);
  }

  hostDisconnected() {
    this.#observer.disconnect();
  }

  hostUpdate() {
    if (!this.#page) return;
    this.#host.pin.keepPlace();
    this.#transcript.prepend(this.#page);
    this.#page = null;
  }

  /** The observer tells once of what is near already, so it is asked anew when there may be more to load. */
  hostUpdated() {
    const state = `${this.#transcript.firstSeq} ${this.loading}`;
    if (state === this.#watched) return;
    this.#watched = state;
    this.#observer.disconnect();
    const earlier = this.#host.querySelector(".earlier");
    if (earlier && !this.loading) this.#observer.observe(earlier);
  }

  #setLoading(loading) {
    this.loading = loading;
    this.#host.requestUpdate();
  }

  /** However many want it: one page at a time. */
  #load(limit) {
    this.#onItsWay ??= this.#draw(limit).finally(() => (this.#onItsWay = null));
    return this.#onItsWay;
  }

  async #draw(limit) {
    this.#page = await earlierMessages(this.#handle, this.#transcript.firstSeq, limit);
    this.#host.requestUpdate();
    await this.#host.updateComplete;
  }
}
