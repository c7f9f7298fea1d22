/** How a message's embeds are shown: pictures, players, and links to everything else. */

import { fill, gettext, language } from "./texts.js";
import { html, nothing, repeat } from "../vendor/lit.js";

const UNITS = ["bytes", "KB", "MB", "GB"];
const SHOWN = new Set(["image", "audio", "video"]);

/** `1536` → `"1.5 KB"`. */
export function readableSize(bytes) {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  const size = (bytes / 1024 ** power).toLocaleString(language, { maximumFractionDigits: power ? 1 : 0 });
  return power ? `${size} ${UNITS[power]}` : fill(gettext("%(size)s bytes"), { size });
}

/** `image`, `audio`, `video`, or `file` for what a page does not show itself. */
export function kindOf({ content_type: type }) {
  const [kind] = type.split("/");
  return SHOWN.has(kind) ? kind : "file";
}

/** The embeds of a message, `{key: {content_type, name, size, uri}}`. Without a `uri` (not sent yet) they are only named. */
export function embedList(embeds) {
  const entries = Object.entries(embeds ?? {});
  if (!entries.length) return nothing;
  return html`<ul class="embeds" aria-label=${gettext("Attachments")}>
    ${repeat(
      entries,
      ([key]) => key,
      ([key, embed]) => html`<li><fixie-embed data-key=${key} .embed=${embed}></fixie-embed></li>`,
    )}
  </ul>`;
}

export function caption(key, { uri, name, content_type: type, size }) {
  const words = html`<span class="embed-key">#${key}</span>
    <span class="embed-name" dir="auto">${name || type}</span> <span class="embed-size">${readableSize(size)}</span>`;
  if (!uri) return html`<span class="caption">${words}</span>`;
  return html`<a class="caption" href=${uri} target="_blank" rel="noopener">${words}</a>`;
}
