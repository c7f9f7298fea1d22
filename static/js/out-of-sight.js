/**
 * What turns out of sight may take of the memory. Their texts are drawn when there is time, so that a search in the page
 * finds them as they read, and they are whole on paper; but only so many, and those that were in sight longest ago are
 * then there as they were written. Their layout, which takes more than their content, they give up.
 */

import { IdleQueue } from "./idle.js";

const ELEMENTS_MOST = 25_000;
/** No layout is given up while the reader scrolls, nor more than this at once: it would be felt. */
const REST_MS = 400;
const AT_ONCE = 40;

const waiting = new IdleQueue((text) => elements < ELEMENTS_MOST && draw(text));
/** How many elements each text has that is drawn, those that were in sight longest ago first. */
const drawn = new Map();
const inSight = new Set();
/** Where turns stand that were in sight since the reader rested last. */
const left = new Set();
let rest;
let elements = 0;

addEventListener("beforeprint", () => waiting.flush(draw));
document.addEventListener("contentvisibilityautostatechange", onSight);

/** `text` has `draw()` and `undraw()`, and is not drawn yet, or was watched before. */
export function watch(text) {
  waiting.add(text);
}

export function unwatch(text) {
  waiting.delete(text);
  inSight.delete(text);
  forget(text);
}

/** `place` is the element that a turn stands in. */
function onSight({ target: place, skipped }) {
  if (place.firstElementChild?.localName !== "fixie-turn") return;
  left[skipped ? "add" : "delete"](place);
  clearTimeout(rest);
  rest = setTimeout(onRest, REST_MS);
  const text = place.querySelector("fixie-message[lazy]");
  if (!text) return;
  inSight[skipped ? "delete" : "add"](text);
  if (skipped) return;
  draw(text);
  for (const old of drawn.keys()) {
    if (elements <= ELEMENTS_MOST) break;
    if (!inSight.has(old)) undraw(old);
  }
}

function onRest() {
  for (const place of [...left].slice(0, AT_ONCE)) {
    left.delete(place);
    giveUpLayout(place);
  }
  if (left.size) rest = setTimeout(onRest, REST_MS);
}

function draw(text) {
  waiting.delete(text);
  forget(text);
  text.draw();
  const count = text.getElementsByTagName("*").length;
  drawn.set(text, count);
  elements += count;
}

function undraw(text) {
  forget(text);
  text.undraw();
}

function forget(text) {
  elements -= drawn.get(text) ?? 0;
  drawn.delete(text);
}

/** Browsers keep the layout of what was seen once; taken out and put in again, what is skipped has none. */
function giveUpLayout(place) {
  const turn = place.firstElementChild;
  if (place.isConnected && !isInUse(turn)) place.insertBefore(turn, turn.nextSibling);
}

function isInUse(turn) {
  const selection = getSelection();
  return (
    turn.contains(document.activeElement) ||
    (!selection.isCollapsed && selection.containsNode(turn, true)) ||
    turn.querySelector("audio, video, fixie-clock") !== null
  );
}
