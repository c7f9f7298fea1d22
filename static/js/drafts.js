/** What is being written and not sent yet: kept in the browser, for a month. */

const PREFIX = "fixie:draft:";
const KEPT_MS = 30 * 24 * 3600 * 1000;

/**
 * The draft under `key` in the browser's storage, which begins with `PREFIX`. All tabs share it. A tab never takes
 * away what another one has written: it removes only what it wrote or read itself.
 */
export class Draft {
  #key;
  /** What is stored, as this tab knows it. */
  #known = null;
  #listeners = new AbortController();

  /**
   * `onGone` is called when another tab has sent what this one holds too; `onShown` when the reader comes back to this
   * tab.
   */
  constructor(key, { onGone, onShown }) {
    this.#key = key;
    const { signal } = this.#listeners;
    addEventListener(
      "storage",
      ({ key, oldValue, newValue }) => {
        if (key !== this.#key || newValue !== null || oldValue !== this.#known) return;
        this.#known = null;
        onGone();
      },
      { signal },
    );
    document.addEventListener("visibilitychange", () => document.hidden || onShown(), { signal });
    prune();
  }

  stop() {
    this.#listeners.abort();
  }

  /** `{text, files}`; empty where nothing is kept. */
  load() {
    this.#known = stored(this.#key);
    const { text = "", files = [] } = parsed(this.#known);
    return { text, files };
  }

  /** `files` are plain objects that survive JSON. */
  save({ text, files }) {
    const before = parsed(this.#known);
    // What is only read does not become another draft by that: the tab it came from would not know it again.
    if (text === before.text && JSON.stringify(files) === JSON.stringify(before.files)) return;
    try {
      if (text || files.length) {
        this.#known = JSON.stringify({ text, files, at: Date.now() });
        localStorage.setItem(this.#key, this.#known);
      } else if (this.#known !== null && stored(this.#key) === this.#known) {
        localStorage.removeItem(this.#key);
        this.#known = null;
      }
    } catch {
      // A full or forbidden storage costs only the survival of the tab.
    }
  }
}

function stored(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function parsed(json) {
  try {
    return JSON.parse(json) ?? {};
  } catch {
    return {};
  }
}

/** Forgets the drafts of conversations that nobody came back to. */
function prune() {
  try {
    for (const key of Object.keys(localStorage)) {
      if (!key.startsWith(PREFIX)) continue;
      const { at = 0 } = parsed(localStorage.getItem(key));
      if (at < Date.now() - KEPT_MS) localStorage.removeItem(key);
    }
  } catch {
    // There is no storage to tidy up.
  }
}
