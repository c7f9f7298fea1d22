/**
 * Agents' Markdown as DOM. An agent's text is data: nothing in it may run, load what is not of this site,
 * or reach the page around it.
 */

import { ownPicture, requestOf } from "./foreign-pictures.js";
import { mathMask, mathTokens } from "./math.js";
import { plainHtml } from "./raw-html.js";
import { settled } from "./streaming.js";
import { gettext } from "./texts.js";
import DOMPurify from "../vendor/dompurify.js";
import { Marked, Parser } from "../vendor/marked.js";

/** Longer texts (in UTF-16 units) are shown as they are: parsing them would stall the page. */
const LONGEST_MARKDOWN = 200_000;

/** What stands for an embed until the markup is clean: a class that no text can have guessed. */
const MARK = `embed-${crypto.getRandomValues(new Uint32Array(2)).join("")}`;
const MARKED = new RegExp(`^${MARK}-(block|chip)-(\\d+)$`);
const REFERENCE = /^[1-9]\d{0,9}(?!\w)/;
/** So far ahead is looked for what may be a reference: plain text is taken in pieces of this length. */
const PIECE = 256;

/** Of the text that is parsed now: the keys that it may name, and whether it is still being written. */
let scene = { keys: new Set(), live: false };

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: { heading, paragraph, html },
  hooks: { emStrongMask: mathMask },
  extensions: [...mathTokens(() => scene.live), { name: "reference", level: "inline", start, tokenizer: reference, renderer: drawn }],
});
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
const TAGS = new Set(CLEAN.ALLOWED_TAGS);
const ATTRIBUTES = new Set(CLEAN.ALLOWED_ATTR);
const LINK_SCHEMES = ["http:", "https:", "mailto:"];
const IMAGE_SCHEMES = ["http:", "https:"];

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.nodeName === "A") guardLink(node);
  if (node.nodeName === "IMG") guardImage(node);
  if (node.nodeName === "INPUT") guardCheckbox(node);
  if (node.className && !/^language-[\w+#-]+$/.test(node.className) && !MARKED.test(node.className)) {
    node.removeAttribute("class");
  }
});

/**
 * The blocks (paragraphs, lists, …) of `text`: `[{key, nodes()}]`; equal keys give equal nodes.
 *
 * Where it names embeds with `keys`, there stand `<fixie-embed data-key>`: of their own (`data-view="block"`), or in
 * the line with another one below. `live`: more of it is coming.
 */
export function blocksOf(text, { keys = [], live = false } = {}) {
  scene = { keys: new Set([...keys].map(Number)), live };
  const markups = text.length > LONGEST_MARKDOWN ? null : markupsOf(live ? settled(text) : text);
  return markups?.map((markup) => ({ key: markup, nodes: () => cleanNodes(markup) })) ?? [plain(text)];
}

/** Those of `embeds` (by key) that `text` does not name, or names in code only. */
export function unnamed(text, embeds = {}) {
  const named = keysNamed(text, Object.keys(embeds));
  return Object.fromEntries(Object.entries(embeds).filter(([key]) => !named.has(Number(key))));
}

function keysNamed(text, keys) {
  if (!keys.length || !text.includes("#") || text.length > LONGEST_MARKDOWN) return new Set();
  scene = { keys: new Set(keys.map(Number)), live: false };
  try {
    return new Set(marked.lexer(text).flatMap(referencesIn).map(({ key }) => key));
  } catch {
    return new Set();
  }
}

/** One HTML text a block, or null where the parser gives up: thousands of nested lists exhaust its stack. */
function markupsOf(text) {
  try {
    const tokens = marked.lexer(text).filter(({ type }) => type !== "space" && type !== "def");
    const shown = new Set(tokens.filter(isAlone).flatMap(referencesIn).map(({ key }) => key));
    return tokens.map((token) => Parser.parse([token], marked.defaults) + previews(token, shown));
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

// Embeds that the text names

function start(text) {
  const piece = text.slice(0, PIECE);
  const found = piece.indexOf("#");
  if (found !== -1) return found;
  return text.length > PIECE ? piece.lastIndexOf(" ") : undefined;
}

/** `#1`, or marks that stand for half as many: `##` is one that names nothing. */
function reference(text) {
  const marks = /^#+/.exec(text)?.[0].length;
  if (!marks) return undefined;
  const key = marks % 2 && !this.lexer.state.inLink ? Number(REFERENCE.exec(text.slice(marks))?.[0] ?? 0) : 0;
  const named = key && (scene.keys.has(key) || scene.live) ? key : 0;
  if (!named && marks === 1) return undefined;
  const raw = text.slice(0, marks + (named ? String(key).length : 0));
  return { type: "reference", raw, marks: "#".repeat(Math.floor(marks / 2) + (named ? 0 : marks % 2)), key: named };
}

function drawn({ marks, key }) {
  if (!key) return marks;
  // Of what is still to come only a paragraph of its own is taken for an embed.
  return scene.keys.has(key) ? `${marks}${place("span", "chip", key)}` : `${marks}#${key}`;
}

const place = (tag, view, key) => `<${tag} class="${MARK}-${view}-${key}"></${tag}>`;

const isBlank = ({ type, raw }) => type === "br" || (type === "text" && !raw.trim());

function isAlone({ type, tokens = [] }) {
  const words = tokens.filter((token) => !isBlank(token));
  return type === "paragraph" && words.length > 0 && words.every(({ type: kind, marks, key }) => kind === "reference" && key && !marks);
}

function paragraph(token) {
  if (!isAlone(token)) return `<p>${this.parser.parseInline(token.tokens)}</p>`;
  return referencesIn(token).map(({ key }) => place("div", "block", key)).join("");
}

/** All references below a token that name something. */
function referencesIn(token) {
  if (token.type === "reference") return token.key ? [token] : [];
  const cells = token.type === "table" ? [...token.header, ...token.rows.flat()] : [];
  const below = [...(token.tokens ?? []), ...(token.items ?? []), ...cells];
  return below.flatMap(referencesIn);
}

/** Below the first block that names an embed in its midst it is shown; `shown` learns of it. */
function previews(token, shown) {
  const keys = referencesIn(token).map(({ key }) => key).filter((key) => scene.keys.has(key) && !shown.has(key));
  return [...new Set(keys)].map((key) => (shown.add(key), place("div", "block", key))).join("");
}

// What the markup becomes

function cleanNodes(markup) {
  const fragment = purify.sanitize(markup, CLEAN);
  for (const mark of fragment.querySelectorAll(`[class^="${MARK}"]`)) mark.replaceWith(embedAt(mark));
  for (const pre of fragment.querySelectorAll("pre")) frameCode(pre);
  for (const table of fragment.querySelectorAll("table")) wrapTable(table);
  for (const image of fragment.querySelectorAll("img")) if (!ownPicture(image.src)) image.replaceWith(requestOf(image));
  return [...fragment.childNodes].filter((node) => node.nodeType !== Node.TEXT_NODE || node.data.trim());
}

function embedAt(mark) {
  const [, view, key] = MARKED.exec(mark.className);
  const embed = document.createElement("fixie-embed");
  Object.assign(embed.dataset, { view, key });
  return embed;
}

/** Code has a line above it that says its language and copies it; `fixie-message` hears the button. */
function frameCode(pre) {
  pre.tabIndex = 0;
  const frame = element("div", "code-block");
  const language = /^language-(.+)$/.exec(pre.querySelector("code")?.className ?? "")?.[1] ?? "";
  const copy = element("button", "copy-code", gettext("Copy"));
  copy.type = "button";
  const head = element("div", "code-head");
  head.append(element("span", "code-language", language), copy);
  pre.replaceWith(frame);
  frame.append(head, pre);
}

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

/** A wide table scrolls inside its frame, by keyboard too. */
function wrapTable(table) {
  const frame = element("div", "table-frame");
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
  // Without an address there was one that is not even looked at.
  if (!image.getAttribute("src") || !hasScheme(image.getAttribute("src"), IMAGE_SCHEMES)) {
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
  input.setAttribute("aria-label", input.checked ? gettext("Done") : gettext("To do"));
}

function html({ text }) {
  return plainHtml(text, TAGS, ATTRIBUTES);
}

/** The page's own heading is the only first one. */
function heading({ tokens, depth }) {
  const level = Math.min(depth + 1, 6);
  return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
}

function hasScheme(address, schemes) {
  return URL.canParse(address ?? "", location.href) && schemes.includes(new URL(address, location.href).protocol);
}
