/** Addresses of messages in a page, `#m-12`, and bringing the reader to them. */

const MARKED_MS = 2500;

/** `"#m-12"` → 12; null for anything else. */
export function seqIn(hash) {
  const found = /^#m-([1-9]\d{0,9})$/.exec(hash);
  return found ? Number(found[1]) : null;
}

/** The element of the message, or of the turn that it belongs to; undefined where there is none. */
export function placeOf(seq, turns) {
  const turn = turns.findLast(({ query }) => query <= seq);
  return document.getElementById(`m-${seq}`) ?? document.getElementById(`m-${turn?.query}`) ?? undefined;
}

/** Scrolls to an element, focuses it and lets it stand out for a moment. */
export async function mark(element) {
  if (!element) return;
  element.tabIndex = -1;
  element.focus({ preventScroll: true });
  element.scrollIntoView({ block: "start", behavior: "instant" });
  // What was out of sight had only about its size: once more, now that it is drawn.
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  element.scrollIntoView({ block: "start", behavior: "instant" });
  element.classList.add("found");
  setTimeout(() => element.classList.remove("found"), MARKED_MS);
}
