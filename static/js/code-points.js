/** Offsets on the wire count Unicode code points; JavaScript's strings count UTF-16 units. */

/** The number of code points in `text`. */
export function codePointLength(text) {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** `text` from its code point `start` on; empty where it has no more than `start`. */
export function codePointSlice(text, start) {
  let position = 0;
  let index = 0;
  for (const character of text) {
    if (position === start) return text.slice(index);
    position += 1;
    index += character.length;
  }
  return "";
}
