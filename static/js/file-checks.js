/** What the site would refuse to keep, said before it is sent: the rules of `embeds/content_types.py` and its limits. */

import { readableSize } from "./embeds.js";
import { fill, gettext } from "./texts.js";

const HEAD_BYTES = 512;
const MARKUP = "^(?:\\xef\\xbb\\xbf)?\\s*";

/** How content begins, and the types it may then be called. */
const SIGNATURES = [
  [/^\x89PNG\r\n\x1a\n/, ["image/png", "image/apng", "image/vnd.mozilla.apng"]],
  [/^\xff\xd8\xff/, ["image/jpeg", "image/jpg", "image/pjpeg"]],
  [/^GIF8[79]a/, ["image/gif"]],
  [/^RIFF[^]{4}WEBP/, ["image/webp"]],
  [/^%PDF-/, ["application/pdf"]],
  [/^(?:PK(?:\x03\x04|\x05\x06)|\x1f\x8b|MZ|\x7fELF)/, []],
  [new RegExp(`${MARKUP}(?:<\\?xml|<svg|<!doctype svg|<!--)`, "i"), ["image/svg+xml"]],
  [new RegExp(`${MARKUP}<(?:!doctype|html|head|body|script|iframe|style|table|div|p|a|h1|br)[\\s>]`, "i"), []],
];
/** Types that a browser takes at their word and shows. What they are called, they must be. */
const SHOWN = /^(?:(?:image|audio|video)\/|application\/pdf$)/;

/** Why a file cannot be attached, as a sentence; undefined where nothing is known against it. */
export async function problemOf(file, maxBytes) {
  if (file.size > maxBytes) return fill(gettext("It is too large: at most %(size)s."), { size: readableSize(maxBytes) });
  if (!file.size) return gettext("It is empty.");
  let head;
  try {
    head = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
  } catch {
    return gettext("It cannot be read. A folder has to be opened, and its files attached.");
  }
  if (isHonest(file.type, String.fromCharCode(...head))) return undefined;
  return gettext("What is in it is not what its name says. Give it the right ending, or save it anew.");
}

function isHonest(type, head) {
  const [essence] = type.split(";");
  if (!SHOWN.test(essence)) return true;
  return SIGNATURES.every(([beginning, types]) => !beginning.test(head) || types.includes(essence));
}
