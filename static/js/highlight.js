/** Colours in code. Loaded when the first whole block of code in a named language is shown. */

import DOMPurify from "../vendor/dompurify.js";
import hljs from "../vendor/highlight.js";

const LONGEST_CODE = 50_000;

/** Colours a `<code>` that names a language known here; looked at once. */
export function highlightIn(code) {
  const language = code.className.slice("language-".length);
  const text = code.textContent;
  code.classList.add("highlighted");
  if (!hljs.getLanguage(language) || text.length > LONGEST_CODE) return;
  const { value } = hljs.highlight(text, { language, ignoreIllegals: true });
  code.replaceChildren(
    DOMPurify.sanitize(value, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true }),
  );
}
