/** For how long something has been going on, by the second; nothing for who wants no motion. Not read out. */

import { durationText } from "./durations.js";
import { LightElement } from "./light-element.js";

const EVERY_MS = 1000;
const still = matchMedia("(prefers-reduced-motion: reduce)");

/** `since` is an ISO time. The reader's clock may be wrong: what is earlier than first seen counts from then. */
export class FixieClock extends LightElement {
  static properties = { since: {} };

  #seen = Date.now();
  #timer = null;

  connectedCallback() {
    super.connectedCallback();
    this.setAttribute("aria-hidden", "true");
    if (!still.matches) this.#timer = setInterval(() => this.requestUpdate(), EVERY_MS);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  render() {
    if (still.matches) return "";
    const past = Date.now() - Date.parse(this.since);
    const counted = past >= 0 && past < 86_400_000 ? past : Date.now() - this.#seen;
    return counted < EVERY_MS ? "" : durationText(Math.floor(counted / 1000) * 1000).replace(/[.,]0(?=\D)/, "");
  }
}

customElements.define("fixie-clock", FixieClock);
