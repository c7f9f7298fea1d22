/** Copying, with a button that says for a moment that it did. */

import { gettext } from "./texts.js";

const SAID_MS = 2000;

/**
 * Copies `text` and returns what is to be said of it. Where there is no clipboard (no https, or not allowed), `source`
 * is selected instead. A `button` with words shows the news; one with a picture only is marked `copied`.
 */
export async function copyText(text, { button, source }) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (source) getSelection().selectAllChildren(source);
    return source ? gettext("Selected: copy it with Ctrl+C.") : gettext("This browser does not let pages copy here.");
  }
  const said = gettext("Copied");
  mark(button, said);
  return said;
}

const marked = new WeakMap();

function mark(button, said) {
  const before = marked.get(button) ?? { words: button.textContent };
  clearTimeout(before.timer);
  const worded = !button.querySelector("svg");
  if (worded) button.textContent = said;
  button.classList.add("copied");
  const timer = setTimeout(() => {
    marked.delete(button);
    button.classList.remove("copied");
    if (worded) button.textContent = before.words;
  }, SAID_MS);
  marked.set(button, { ...before, timer });
}
