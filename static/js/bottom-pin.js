/** Keeps the page at its end while text streams in, but only for a reader who is there. */

const NEAR_PX = 64;

export class BottomPin {
  pinned = true;

  #lastTop = 0;
  /** The distance to the page's end that `keepPlace` asked to keep, in pixels, or null. */
  #below = null;
  #onChange;
  #listeners = new AbortController();
  #observer = new ResizeObserver(() => this.follow());

  /** `onChange` is called when `pinned` changed; growth of `content` (an image that loads) is followed. */
  constructor(content, onChange) {
    this.#onChange = onChange;
    const options = { passive: true, signal: this.#listeners.signal };
    addEventListener("scroll", () => this.#onScroll(), options);
    addEventListener("resize", () => this.follow(), options);
    this.#observer.observe(content);
  }

  stop() {
    this.#listeners.abort();
    this.#observer.disconnect();
  }

  /** Goes to the end if the reader is there. */
  follow() {
    if (this.pinned) this.#scrollTo(document.documentElement.scrollHeight);
  }

  /** Goes to the end whatever the reader looks at. */
  jump() {
    this.#set(true);
    this.follow();
  }

  /** Leaves the reader where they are, also while text comes in. */
  release() {
    this.#set(false);
  }

  /** Content is about to be added above: what the reader looks at stays where it is, if `settle` is called then. */
  keepPlace() {
    const root = document.documentElement;
    // The browser's own scroll anchoring would do the same a second time.
    root.classList.add("no-scroll-anchor");
    this.#below = root.scrollHeight - scrollY;
  }

  /** The content has been added: the page goes to its end, or back to the place that was to be kept. */
  settle() {
    if (this.#below === null) {
      this.follow();
      return;
    }
    this.#scrollTo(document.documentElement.scrollHeight - this.#below);
    this.#below = null;
    // At once: what comes into sight now takes its true size, and that is the browser's to make up for.
    document.documentElement.classList.remove("no-scroll-anchor");
  }

  #onScroll() {
    const top = scrollY;
    const near = document.documentElement.scrollHeight - innerHeight - top < NEAR_PX;
    // Content that grew since our own scroll is no wish of the reader: only going up is.
    if (near || top < this.#lastTop) this.#set(near);
    this.#lastTop = top;
  }

  #scrollTo(top) {
    scrollTo({ top, behavior: "instant" });
    this.#lastTop = scrollY;
  }

  #set(pinned) {
    if (this.pinned === pinned) return;
    this.pinned = pinned;
    this.#onChange();
  }
}
