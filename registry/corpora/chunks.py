"""Passages: a document's text cut so that each part fits the embedder and says something alone."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

# MiniLM reads 256 tokens: about this many letters of English.
SIZE = 900
OVERLAP = 120
MAX_CHUNKS = 2000

# Where a text may be cut, the best places first; a piece ends with what separates it from the next.
_HEADING = re.compile(r"^(?=#{1,6}\s)", re.MULTILINE)
_PARAGRAPH = re.compile(r"\n\s*\n")
_LINE = re.compile(r"\n")
# With the signs of Arabic, Devanagari and Chinese, whose full stop needs no space behind it.
_SENTENCE = re.compile(
    r"[.!?\u2026\u061f\u0964][\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f\uff1b][\u201d\u2019\u300d\u300f\uff09]*\s*"
)
_WORD = re.compile(r"\s+")
_PLACES = (_HEADING, _PARAGRAPH, _LINE, _SENTENCE, _WORD)

_LINE_OR_SENTENCE = re.compile(f"{_LINE.pattern}|{_SENTENCE.pattern}")
_LONE_HEADING = re.compile(r"#{1,6}\s[^\n]*+\s*+")
# The share of a passage that is enough to end it before a heading.
_ENOUGH = 0.25

# Letters of other scripts, and signs and digits, are tokens of their own more often than not.
_OTHER_SCRIPT = re.compile(r"[^\x00-\u024f]")
_SIGN = re.compile(r"[0-9!-/:-@\[-`{-~]")


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    is_section: bool  # begins with a heading


def chunks(text: str, *, size: int = SIZE, overlap: int = OVERLAP, most: int = MAX_CHUNKS) -> list[str]:
    """The passages of `text` in its order, none blank, at most `most` of them.

    Cut before headings, between paragraphs, lines, sentences or words, whatever comes first; inside of a word only
    where it alone is too long. A passage repeats up to `overlap` of the one before it, unless a heading begins it.
    `size` and `overlap` are in letters of English; what takes more tokens counts more.
    """
    return list(islice(_passages(text, size, overlap), most))


def _passages(text: str, size: int, overlap: int) -> Iterator[str]:
    start = end = cost = 0
    for piece in _with_headings(text, _pieces(text, 0, len(text), size - overlap, _PLACES), size - overlap):
        more = _cost(text[piece.start : piece.end])
        if cost + more > size or (piece.is_section and cost >= _ENOUGH * size):
            if passage := text[start:end].strip():
                yield passage
            start = piece.start if piece.is_section else _tail(text, start, end, overlap)
            cost = _cost(text[start : piece.start])
        cost += more
        end = piece.end
    if text[start:end].strip():
        yield text[start:end].strip()


def _pieces(text: str, start: int, end: int, size: int, places: tuple[re.Pattern[str], ...]) -> Iterator[_Piece]:
    """`text[start:end]` in parts that cost at most `size`, none blank, cut at the best places there are."""
    if not text[start:end].strip():
        return
    if _cost(text[start:end]) <= size and _HEADING not in places:
        yield _Piece(start, end, _HEADING.match(text, start) is not None)
    elif places:
        for first, last in _parts(text, start, end, places[0]):
            yield from _pieces(text, first, last, size, places[1:])
    else:
        step = max(1, size // 4)
        for first in range(start, end, step):
            yield _Piece(first, min(first + step, end), False)


def _parts(text: str, start: int, end: int, place: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    for found in place.finditer(text, start, end):
        if found.end() > start:
            yield start, found.end()
            start = found.end()
    if start < end:
        yield start, end


def _with_headings(text: str, pieces: Iterable[_Piece], size: int) -> Iterator[_Piece]:
    """Puts headings that stand alone to what they are the heading of."""
    heading: _Piece | None = None
    for piece in pieces:
        if heading is not None:
            joined = _Piece(heading.start, piece.end, True)
            if _cost(text[joined.start : joined.end]) <= size:
                piece = joined
            else:
                yield heading
        is_alone = piece.is_section and _LONE_HEADING.fullmatch(text, piece.start, piece.end) is not None
        heading = piece if is_alone else None
        if not is_alone:
            yield piece
    if heading is not None:
        yield heading


def _tail(text: str, start: int, end: int, overlap: int) -> int:
    """Where the last lines, sentences or words of a passage begin that cost at most `overlap`; else `end`."""
    earliest = max(start, end - overlap)
    for place in (_LINE_OR_SENTENCE, _WORD):
        for found in place.finditer(text, earliest, end):
            if found.end() < end and _cost(text[found.end() : end]) <= overlap:
                return found.end()
    return end


def _cost(text: str) -> int:
    """The length of `text` in letters of English that take as many tokens."""
    return len(text) + 2 * len(_SIGN.findall(text)) + 3 * len(_OTHER_SCRIPT.findall(text))
