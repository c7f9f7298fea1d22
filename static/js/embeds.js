/** How a message's embeds are shown: pictures, players, and links to everything else. */

import { html, nothing, repeat } from "../vendor/lit.js";

const UNITS = ["bytes", "KB", "MB", "GB"];

/** `1536` → `"1.5 KB"`. */
export function readableSize(bytes) {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1);
  return `${(bytes / 1024 ** power).toLocaleString("en", { maximumFractionDigits: power ? 1 : 0 })} ${UNITS[power]}`;
}

/** The embeds of a message, `{key: {content_type, size, uri}}`. Without a `uri` (not sent yet) they are only named. */
export function embedList(embeds) {
  const entries = Object.entries(embeds ?? {});
  if (!entries.length) return nothing;
  return html`<ul class="embeds" aria-label="Attachments">
    ${repeat(entries, ([key]) => key, ([key, embed]) => html`<li class="embed">${shown(key, embed)}</li>`)}
  </ul>`;
}

function shown(key, embed) {
  const [kind] = embed.content_type.split("/");
  return html`${embed.uri ? (VIEWS.get(kind)?.(key, embed) ?? nothing) : nothing}${caption(key, embed)}`;
}

const VIEWS = new Map(Object.entries({ image, audio, video }));

/** What a browser cannot show (any more) still has its caption, which is a link. */
const hide = ({ currentTarget }) => currentTarget.setAttribute("hidden", "");

function image(key, { uri, content_type: type }) {
  return html`<a class="picture" href=${uri} target="_blank" rel="noopener" tabindex="-1">
    <img src=${uri} alt=${`Attachment ${key} (${type})`} loading="lazy" @error=${(event) => hide({ currentTarget: event.target.parentNode })} />
  </a>`;
}

function audio(key, { uri }) {
  return html`<audio src=${uri} controls preload="none" aria-label=${`Attachment ${key}`} @error=${hide}></audio>`;
}

function video(key, { uri }) {
  return html`<video src=${uri} controls preload="metadata" aria-label=${`Attachment ${key}`} @error=${hide}></video>`;
}

function caption(key, { uri, name, content_type: type, size }) {
  const words = html`<span class="embed-key">#${key}</span>
    <span class="embed-name">${name ?? type}</span> <span class="embed-size">${readableSize(size)}</span>`;
  if (!uri) return html`<span class="caption">${words}</span>`;
  return html`<a class="caption" href=${uri} target="_blank" rel="noopener">${words}</a>`;
}
