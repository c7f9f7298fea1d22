/** Colours in code. Loaded when the first finished answer holds code in a named language. */

import DOMPurify from "../vendor/dompurify.js";
import hljs from "../vendor/highlight.js";

const LONGEST_CODE = 50_000;

/** Colours the code blocks below `root` that name a language known here. */
export function highlightIn(root) {
  for (const code of root.querySelectorAll('pre > code[class^="language-"]')) {
    const language = code.className.slice("language-".length);
    const text = code.textContent;
    if (!hljs.getLanguage(language) || text.length > LONGEST_CODE) continue;
    const { value } = hljs.highlight(text, { language, ignoreIllegals: true });
    code.replaceChildren(
      DOMPurify.sanitize(value, { ALLOWED_TAGS: ["span"], ALLOWED_ATTR: ["class"], RETURN_DOM_FRAGMENT: true }),
    );
    code.classList.add("highlighted");
  }
}
