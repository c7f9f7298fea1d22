/**
 * Markdown whose end has not come yet, so that what is drawn of it stays what it is: constructs that are open are
 * closed, and what may still become one thing or another is held back for the moment. Pure.
 */

/** A link, a picture or a tag that is longer than this will not be one: it is shown as it stands. */
const LONGEST_HELD = 400;

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
/** A line, not ended yet, that the next character makes a list, a heading, a rule, an embed of its own or plain text. */
const UNDECIDED = /^[ \t>]*(?:[-=*_]+|[+>]|\d{1,9}[.)]?|#+\d*|`{1,2}|~{1,2}|(?:`{3,}|~{3,})[^`\n]*|[-*+] \[[ xX]?\]?|(?:<[^<>\n]*>)+) *$/;
const TABLE_LINE = /^ {0,3}\|/;
const DELIMITERS = /^ {0,3}[|:\- ]*$/;
/** A link, a picture, a tag or an address in brackets that has begun and not ended. */
const OPEN_LINK = /!?\[[^\][\n]*(?:\](?:\([^()\s]*(?:[^()\n]*)?)?)?$|<(?:[a-zA-Z/!][^<>]*)?$|!$/;
const BEGINS_ANEW = /^[ \t>]*(?:[-*+] |\d{1,9}[.)] |#{1,6} |\|)/;

/** What to draw of `text` while more of it is coming. */
export function settled(text) {
  if (openFence(text)) return withoutOpenFence(text);
  const decided = withoutUndecidedLine(text);
  // The line that ends a block of code may still become a line of it.
  if (openFence(decided)) return decided;
  return closed(withoutOpenLink(withoutOpenTable(decided)));
}

/** The mark of the code block that has begun and not ended, or null; one that has only just begun is none yet. */
function openFence(text) {
  if (!/```|~~~/.test(text)) return null;
  let open = null;
  const lines = text.split("\n");
  lines.forEach((line, index) => {
    const [, mark, rest] = FENCE.exec(line) ?? [];
    if (!mark) return;
    if (open && mark.startsWith(open) && !rest.trim()) open = null;
    else if (!open && index < lines.length - 1 && !(mark[0] === "`" && rest.includes("`"))) open = mark;
  });
  return open;
}

/** Marks alone in the last line may become the end of the code. */
const withoutOpenFence = (text) => text.replace(/(^|\n) {0,3}(?:`+|~+)$/, "$1");

const lastLineStart = (text) => text.lastIndexOf("\n") + 1;

function withoutUndecidedLine(text) {
  const start = lastLineStart(text);
  return UNDECIDED.test(text.slice(start)) ? text.slice(0, start) : text;
}

/** A row is shown when it is whole; a head when the line below it says that it is one. */
function withoutOpenTable(text) {
  const start = lastLineStart(text);
  const line = text.slice(start);
  if (line && TABLE_LINE.test(line)) return withoutOpenTable(text.slice(0, start));
  const lines = text.trimEnd().split("\n").slice(-3);
  const last = lines.at(-1);
  const isHead = TABLE_LINE.test(last) && !(lines.length > 1 && TABLE_LINE.test(lines.at(-2)));
  return isHead && !text.endsWith("\n\n") ? text.slice(0, text.trimEnd().length - last.length) : text;
}

function withoutOpenLink(text) {
  const start = Math.max(lastLineStart(text), text.length - LONGEST_HELD);
  const found = OPEN_LINK.exec(text.slice(start));
  return found && !insideCode(text.slice(lastLineStart(text), start + found.index))
    ? text.slice(0, start + found.index)
    : text;
}

/** Whether a line that begins so is inside of a code span, as far as backticks tell. */
const insideCode = (line) => (line.match(/`+/g) ?? []).length % 2 === 1;

/** `text` with the emphasis and the code that are open in its last paragraph ended. */
function closed(text) {
  const paragraph = text.slice(text.lastIndexOf("\n\n") + 1);
  const open = openIn(paragraph);
  if (!open) return text;
  const bare = text.trimEnd();
  // Marks that stand behind everything else enclose nothing yet.
  const inside = open.dangling ? bare.slice(0, -open.dangling) : bare;
  return open.marks ? `${inside.trimEnd()}${open.marks}` : inside;
}

/** `{marks, dangling}`: what ends all that is open at the end, and how many marks there enclose nothing; or null. */
function openIn(paragraph) {
  let stack = [];
  let at = 0;
  while (at < paragraph.length) {
    if (at === 0 || paragraph[at - 1] === "\n") {
      if (BEGINS_ANEW.test(paragraph.slice(at, at + 40))) stack = [];
    }
    const character = paragraph[at];
    if (character === "\\") {
      at += 2;
    } else if (character === "`") {
      const run = runAt(paragraph, at);
      const end = endOfCode(paragraph, at + run, run);
      if (end === -1) return openCode(paragraph, at, run, stack);
      at = end;
    } else if ("*_~".includes(character)) {
      const run = runAt(paragraph, at);
      if (!/\S/.test(paragraph.slice(at + run)) && !closes(stack, character)) return { marks: marksOf(stack), dangling: run };
      take(stack, paragraph, at, run);
      at += run;
    } else {
      at += 1;
    }
  }
  return stack.length ? { marks: marksOf(stack), dangling: 0 } : null;
}

const runAt = (text, at) => /^(.)\1*/.exec(text.slice(at, at + 64))[0].length;

function endOfCode(text, from, run) {
  for (let at = text.indexOf("`", from); at !== -1; at = text.indexOf("`", at)) {
    const length = runAt(text, at);
    at += length;
    if (length === run) return at;
  }
  return -1;
}

function openCode(paragraph, at, run, stack) {
  const code = paragraph.slice(at + run);
  if (!code.trim()) return { marks: marksOf(stack), dangling: run };
  const ending = /`*$/.exec(code)[0].length;
  return { marks: "`".repeat(run - ending) + marksOf(stack), dangling: 0 };
}

const closes = (stack, character) => stack.at(-1)?.character === character;
const marksOf = (stack) => stack.toReversed().map(({ character, count }) => character.repeat(count)).join("");

/** Marks that follow a word end what is open; marks before one, and not within a word, begin something. */
function take(stack, text, at, run) {
  const character = text[at];
  const before = text[at - 1] ?? " ";
  const after = text[at + run] ?? " ";
  let count = run;
  if (!/\s/.test(before)) {
    while (count && closes(stack, character)) {
      const taken = Math.min(count, stack.at(-1).count);
      stack.at(-1).count -= taken;
      count -= taken;
      if (!stack.at(-1).count) stack.pop();
    }
  }
  const begins = !/\s/.test(after) && /[\s\p{P}]/u.test(before) && (character !== "~" || count === 2);
  if (count && begins && count <= 3) stack.push({ character, count });
}
