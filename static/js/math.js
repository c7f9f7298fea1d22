/** Formulas in Markdown, `$…$`, `$$…$$`, `\(…\)` and `\[…\]`: left as they are written, whatever characters they hold. */

/** A formula is no longer than this (in UTF-16 units); what looks like one and is longer is text. */
const LONGEST = 2000;
const PIECE = 256;
const PAIRS = [
  ["$$", "$$"],
  ["\\[", "\\]"],
  ["\\(", "\\)"],
];
const INLINE = /^\$(?![\s$])(?:\\.|[^\\$\n])+?(?<!\s)\$(?!\d)/;
/** Still being written; amounts of money are no formulas. */
const OPEN_INLINE = /^\$(?![\s\d$])[^$\n]*$/;
const ANYWHERE = /\$|\\[([]/;

/** What marked is to know of formulas. `isLive` tells whether one that is open at the end of the text counts. */
export function mathTokens(isLive) {
  return [
    {
      name: "formula",
      level: "block",
      start: (text) => /\n {0,3}(?:\$\$|\\\[)/.exec(text.slice(0, LONGEST))?.index,
      tokenizer: (text) => token("formula", blockAt(text, isLive())),
      renderer: ({ raw }) => `<p>${escaped(raw.trim()).replaceAll("\n", "<br>")}</p>`,
    },
    {
      name: "inlineFormula",
      level: "inline",
      start,
      tokenizer: (text) => token("inlineFormula", formulaAt(text, isLive())),
      renderer: ({ raw }) => escaped(raw).replaceAll("\n", "<br>"),
    },
  ];
}

/** `text` with formulas blackened, in which emphasis is looked for. */
export function mathMask(text) {
  if (!ANYWHERE.test(text)) return text;
  let masked = "";
  let at = 0;
  while (at < text.length) {
    const next = text.slice(at).search(ANYWHERE);
    if (next === -1) break;
    masked += text.slice(at, at + next);
    at += next;
    const found = text[at - 1] === "\\" ? "" : formulaAt(text.slice(at, at + LONGEST), false);
    masked += found ? "+".repeat(found.length) : text[at];
    at += found.length || 1;
  }
  return masked + text.slice(at);
}

const token = (type, raw) => (raw ? { type, raw } : undefined);

/** Text is looked through in pieces: its whole rest each time would take quadratic time. */
function start(text) {
  const piece = text.slice(0, PIECE);
  const found = piece.search(ANYWHERE);
  if (found !== -1) return found;
  return text.length > PIECE ? piece.lastIndexOf(" ") : undefined;
}

/** The formula that `text` begins with, or "". */
function formulaAt(text, live) {
  const near = text.slice(0, LONGEST);
  return paired(near, live) || INLINE.exec(near)?.[0] || (live && text.length < LONGEST && OPEN_INLINE.exec(near)?.[0]) || "";
}

function blockAt(text, live) {
  const indent = /^ {0,3}/.exec(text)[0];
  const found = paired(text.slice(indent.length, LONGEST), live);
  const rest = /^[ \t]*(?:\n|$)/.exec(text.slice(indent.length + found.length));
  return found && rest ? indent + found + rest[0] : "";
}

function paired(text, live) {
  const [begin, end] = PAIRS.find(([mark]) => text.startsWith(mark)) ?? [];
  if (!begin) return "";
  const at = text.indexOf(end, begin.length + 1);
  if (at === -1 && !live) return "";
  const area = at === -1 ? text : text.slice(0, at + end.length);
  // A blank line ends a paragraph, and a formula with it.
  if (/\n[ \t]*\n/.test(area)) return "";
  return at !== -1 || text.length < LONGEST ? area : "";
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
