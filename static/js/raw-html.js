/**
 * HTML that stands in Markdown, reduced to plain marks before it is parsed at all: a browser reports handlers and styles
 * to the page's policy already where they are only parsed. What is safe is decided afterwards, by DOMPurify.
 */

/** What is inside of these is no text. */
const HIDDEN = /<(script|style|iframe|noscript|template|object)\b[\s\S]*?(?:<\/\1\s*>|$)|<!--[\s\S]*?(?:-->|$)/gi;
const TAG = /<(\/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>/g;
const ATTRIBUTE = /\s([a-zA-Z]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?/g;

/** `html` with tags of `tags` and attributes of `attributes` (Sets of lower-case names) only. */
export function plainHtml(html, tags, attributes) {
  const shown = html.replace(HIDDEN, "");
  const marks = shown.replace(TAG, (_, slash, name, rest) => {
    if (!tags.has(name.toLowerCase())) return "\0";
    return `\0<${slash}${name}${slash ? "" : kept(rest, attributes)}>`;
  });
  // Whatever looks like a tag and was none is text.
  return marks.replace(/(\0?)</g, (_, known) => (known ? "<" : "&lt;")).replaceAll("\0", "");
}

const kept = (rest, attributes) =>
  [...rest.matchAll(ATTRIBUTE)]
    .filter(([, name]) => attributes.has(name.toLowerCase()))
    .map(([whole]) => whole)
    .join("");
