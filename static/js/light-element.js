/** Components without a shadow root: the site's one stylesheet, and its tokens, reach them. */

import { LitElement } from "../vendor/lit.js";

export class LightElement extends LitElement {
  createRenderRoot() {
    this.replaceChildren();
    return this;
  }
}
