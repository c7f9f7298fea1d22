/** Short news at the bottom of the page, said once to a screen reader, with something to do about it if there is. */

import { isField } from "./fields.js";
import { gettext } from "./texts.js";

const AT_ONCE = 3;
const SECONDS = 6;
const SECONDS_TO_ACT = 12;

// There before its first news: a screen reader says only what changes in a region it knows.
const region = document.createElement("div");
region.className = "toasts";
region.setAttribute("role", "status");
region.popover = "manual";
document.body.append(region);
region.showPopover();

/** Of each toast that is shown: what closes it, and its action. */
const shown = new Map();

/**
 * Shows `text` for so many `seconds`, longer while the pointer or the focus is on it; returns what takes it away.
 *
 * `action` is a button: its `run()` is called once. Ctrl+Z outside a field does the newest toast's action too.
 */
export function toast(text, { action, seconds = action ? SECONDS_TO_ACT : SECONDS } = {}) {
  const element = document.createElement("div");
  element.className = "toast";
  const words = document.createElement("p");
  words.textContent = text;
  element.append(words);
  let timer = null;
  const close = () => {
    clearTimeout(timer);
    shown.delete(element);
    element.remove();
  };
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(close, seconds * 1000);
  };
  const act = () => {
    close();
    action.run();
  };
  if (action) element.append(button(action.label, act, "small"));
  element.append(button("×", close, "close", gettext("Dismiss")));
  for (const event of ["pointerenter", "focusin"]) element.addEventListener(event, () => clearTimeout(timer));
  for (const event of ["pointerleave", "focusout"]) element.addEventListener(event, wait);
  shown.set(element, { close, act: action && act });
  raise();
  region.append(element);
  [...shown.values()].slice(0, -AT_ONCE).forEach((old) => old.close());
  wait();
  return close;
}

/** Above a drawer that was opened later. */
function raise() {
  if (!document.querySelector(":popover-open:not(.toasts)")) return;
  region.hidePopover();
  region.showPopover();
}

function button(label, onClick, className, name = "") {
  const element = document.createElement("button");
  element.type = "button";
  element.className = className;
  element.textContent = label;
  if (name) element.setAttribute("aria-label", name);
  element.addEventListener("click", onClick);
  return element;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "z" || !(event.ctrlKey || event.metaKey) || event.shiftKey || isField(event.target)) return;
  const newest = [...shown.values()].findLast(({ act }) => act);
  if (!newest) return;
  event.preventDefault();
  newest.act();
});
