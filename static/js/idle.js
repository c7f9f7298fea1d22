/** Work that can wait until the page has nothing else to do: a piece at a time, while a frame has room for it. */

const ROOM_MS = 6;
/** For browsers without idle callbacks. */
const PAUSE_MS = 50;

const whenIdle =
  globalThis.requestIdleCallback ?? ((work) => setTimeout(() => work({ timeRemaining: () => 0 }), PAUSE_MS));

/** Things that wait for `work`, those that came last first. */
export class IdleQueue {
  #waiting = new Set();
  #work;
  #asked = false;

  constructor(work) {
    this.#work = work;
  }

  add(thing) {
    this.#waiting.add(thing);
    this.#ask();
  }

  delete(thing) {
    this.#waiting.delete(thing);
  }

  /** Does `work` to all of it now. */
  flush(work = this.#work) {
    const all = [...this.#waiting];
    this.#waiting.clear();
    all.forEach(work);
  }

  #ask() {
    if (this.#asked || !this.#waiting.size) return;
    this.#asked = true;
    whenIdle((deadline) => this.#onIdle(deadline));
  }

  #onIdle(deadline) {
    this.#asked = false;
    for (const thing of [...this.#waiting].reverse()) {
      this.#waiting.delete(thing);
      this.#work(thing);
      // At least one at a time: on a busy machine no frame has room.
      if (deadline.timeRemaining() < ROOM_MS) break;
    }
    this.#ask();
  }
}
