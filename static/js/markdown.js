/**
 * Agents' Markdown as DOM. An agent's text is data: nothing in it may run, load what is not a web address,
 * or reach the page around it.
 */

import DOMPurify from "../vendor/dompurify.js";
import { Marked, Parser } from "../vendor/marked.js";

/** Longer texts (in UTF-16 units) are shown as they are: parsing them would stall the page. */
const LONGEST_MARKDOWN = 200_000;

const marked = new Marked({ gfm: true, breaks: true, renderer: { heading } });
const purify = DOMPurify(window);
const CLEAN = {
  ALLOWED_TAGS: (
    "a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark " +
    "ol p pre q s samp small span strong sub summary sup table tbody td tfoot th thead tr u ul"
  ).split(" "),
  ALLOWED_ATTR: "align alt checked class colspan disabled href open rowspan src start title type".split(" "),
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};
const LINK_SCHEMES = ["http:", "https:", "mailto:"];
const IMAGE_SCHEMES = ["http:", "https:"];

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A") guardLink(node);
  if (node.nodeName === "IMG") guardImage(node);
  if (node.nodeName === "INPUT") guardCheckbox(node);
  if (node.className && !/^language-[\w+#-]+$/.test(node.className)) node.removeAttribute("class");
});

/** The blocks (paragraphs, lists, …) of `text`: `[{key, nodes()}]`; equal keys give equal nodes. */
export function blocksOf(text) {
  const markups = text.length > LONGEST_MARKDOWN ? null : markupsOf(text);
  return markups?.map((markup) => ({ key: markup, nodes: () => cleanNodes(markup) })) ?? [plain(text)];
}

/** One HTML text a block, or null where the parser gives up: thousands of nested lists exhaust its stack. */
function markupsOf(text) {
  try {
    const tokens = marked.lexer(text).filter(({ type }) => type !== "space" && type !== "def");
    return tokens.map((token) => Parser.parse([token], marked.defaults));
  } catch {
    return null;
  }
}

const plain = (text) => ({ key: text, nodes: () => plainBlock(text) });

function plainBlock(text) {
  const block = document.createElement("pre");
  block.className = "plain";
  block.tabIndex = 0;
  block.textContent = text;
  return [block];
}

function cleanNodes(markup) {
  const fragment = purify.sanitize(markup, CLEAN);
  for (const pre of fragment.querySelectorAll("pre")) pre.tabIndex = 0;
  for (const table of fragment.querySelectorAll("table")) wrapTable(table);
  return [...fragment.childNodes].filter((node) => node.nodeType !== Node.TEXT_NODE || node.data.trim());
}

/** A wide table scrolls inside its frame, by keyboard too. */
function wrapTable(table) {
  const frame = document.createElement("div");
  frame.className = "table-frame";
  frame.tabIndex = 0;
  table.replaceWith(frame);
  frame.append(table);
}

function guardLink(link) {
  if (!hasScheme(link.getAttribute("href"), LINK_SCHEMES)) {
    link.removeAttribute("href");
    return;
  }
  link.target = "_blank";
  link.rel = "noopener noreferrer nofollow";
}

function guardImage(image) {
  if (!hasScheme(image.getAttribute("src"), IMAGE_SCHEMES)) {
    image.replaceWith(image.alt);
    return;
  }
  image.alt ||= "";
  image.loading = "lazy";
  image.referrerPolicy = "no-referrer";
}

/** Task lists have checkboxes; there is no other input in an answer. */
function guardCheckbox(input) {
  if (input.type !== "checkbox") input.remove();
  input.disabled = true;
  input.setAttribute("aria-label", input.checked ? "Done" : "To do");
}

/** The page's own heading is the only first one. */
function heading({ tokens, depth }) {
  const level = Math.min(depth + 1, 6);
  return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
}

function hasScheme(address, schemes) {
  return URL.canParse(address ?? "", location.href) && schemes.includes(new URL(address, location.href).protocol);
}
