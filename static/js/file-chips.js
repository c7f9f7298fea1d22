/** The files of the composer as they are shown: a picture or a sign, the name, how far it is, what can be done. */

import { readableSize } from "./embeds.js";
import { fill, gettext } from "./texts.js";
import { html, nothing, repeat } from "../vendor/lit.js";

/** `onRetry` and `onRemove` get the key of an item of `Attachments`. */
export function fileChips(items, { onRetry, onRemove }) {
  if (!items.length) return nothing;
  return html`<ul class="chips" aria-label=${gettext("Files to send")}>
    ${repeat(items, ({ key }) => key, (item) => html`<li class="chip">${chip(item, onRetry, onRemove)}</li>`)}
  </ul>`;
}

function chip({ key, name, content_type: type = "", size, id, progress, error, uri }, onRetry, onRemove) {
  return html`${uri && type.startsWith("image/") ? html`<img class="chip-picture" src=${uri} alt="" />` : nothing}
    <span class="embed-key">#${key}</span> <span class="embed-name" title=${name}>${name}</span>
    ${error
      ? html`<span class="failed" role="alert">${error}</span>
          <button type="button" class="small" @click=${() => onRetry(key)}>${gettext("Retry")}</button>`
      : html`<span class="embed-size">${id ? readableSize(size) : `${Math.floor(progress * 100)} %`}</span>`}
    ${id || error
      ? nothing
      : html`<progress .value=${progress} aria-label=${fill(gettext("Uploading %(name)s"), { name })}></progress>`}
    <button
      type="button"
      class="remove"
      aria-label=${fill(id || error ? gettext("Remove %(name)s") : gettext("Cancel %(name)s"), { name })}
      @click=${() => onRemove(key)}
    >
      ×
    </button>`;
}
