/** One embed where a text names it: a picture, a player or a file; with `data-view="chip"` a link in the line. */

import { caption, kindOf } from "./embeds.js";
import { freshUri } from "./fresh-links.js";
import { LightElement } from "./light-element.js";
import { fill, gettext } from "./texts.js";
import { html, nothing } from "../vendor/lit.js";

/** `embed` is `{content_type, size, uri, name?}`, undefined while it is not known. Room for it is there at once. */
export class FixieEmbed extends LightElement {
  static properties = { embed: { attribute: false }, broken: { state: true }, fresh: { state: true } };

  render() {
    const { key, view } = this.dataset;
    if (view === "chip") return this.#chip(key);
    if (!this.embed) return html`<span class="embed"><span class="picture"></span></span>`;
    return html`<span class="embed ${kindOf(this.embed)}">${this.broken ? nothing : this.#view(key)}${caption(key, this.#now)}</span>`;
  }

  willUpdate(changed) {
    if (changed.has("embed") && changed.get("embed")?.uri !== this.embed?.uri) this.#forget();
  }

  #forget() {
    this.broken = false;
    this.fresh = undefined;
  }

  /** With the link that is good now. */
  get #now() {
    return this.fresh ? { ...this.embed, uri: this.fresh } : this.embed;
  }

  #chip(key) {
    const uri = this.#now?.uri;
    if (!uri) return `#${key}`;
    return html`<a class="embed-chip" href=${uri} target="_blank" rel="noopener">#${key}</a>`;
  }

  #view(key) {
    const { uri, content_type: type } = this.#now;
    const name = this.embed.name || fill(gettext("Attachment %(key)s"), { key });
    switch (uri && kindOf(this.embed)) {
      case "image":
        return html`<a class="picture" href=${uri} target="_blank" rel="noopener" tabindex="-1">
          <img src=${uri} alt=${`${name} (${type})`} loading="lazy" @error=${this.#onError} />
        </a>`;
      case "audio":
        return html`<audio src=${uri} controls preload="none" aria-label=${name} @error=${this.#onError}></audio>`;
      case "video":
        return html`<video src=${uri} controls preload="metadata" aria-label=${name} @error=${this.#onError}></video>`;
      default:
        return nothing;
    }
  }

  /** Its link may have expired: once, a fresh one is asked for. What cannot be shown still has its caption, a link. */
  async #onError() {
    if (this.fresh) {
      this.broken = true;
      return;
    }
    const session = this.closest("[data-session]")?.dataset.session;
    const uri = session && (await freshUri(session, this.dataset.key, this.embed.uri));
    if (uri) this.fresh = uri;
    else this.broken = true;
  }
}

customElements.define("fixie-embed", FixieEmbed);
