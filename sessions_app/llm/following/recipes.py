"""Texts made of pieces: literal words, and words taken over from other texts, written as the example wrote them."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum

from sessions_app.llm.following.patterns import Fit, Slot
from sessions_app.llm.following.words import Token, Type, digits_of, is_content, tokens


class Case(Enum):
    """What was done to the letters on the way from the source to the target."""

    SAME = "same"
    UPPER = "upper"
    LOWER = "lower"
    CAPITAL = "capital"
    CODE = "code"
    DIGITS = "digits"


def case_of(source: str, target: str, *, number: bool) -> Case:
    """How `target` was written from `source`. `number`: both are one number."""
    if number and target[-1].isdigit():
        return Case.DIGITS
    if source == target:
        return Case.CODE if _is_code(source) and source.isupper() else Case.SAME
    for case, made in ((Case.UPPER, source.upper()), (Case.LOWER, source.lower())):
        if target == made:
            return case
    return Case.CAPITAL if target[:1].isupper() and source[:1].islower() else Case.SAME


def _is_code(text: str) -> bool:
    """Short enough for a ticker, a currency or a country."""
    return 1 < len(text) < 7 and text.isalpha()


def written(case: Case, text: str, found: Sequence[Token]) -> str:
    """`text`, which holds the tokens `found`, written as the example did."""
    if case is Case.DIGITS and len(found) == 1:
        return "1" if found[0].key in ("a", "an") else digits_of(found[0])
    if case is Case.UPPER or (case is Case.CODE and _is_code(text) and text.islower()):
        return text.upper()
    if case is Case.LOWER:
        return text.lower()
    return text[:1].upper() + text[1:] if case is Case.CAPITAL else text


@dataclass(frozen=True, slots=True)
class Bound:
    """A source text of the present run, with what it has in the slots of its pattern (None: has no pattern)."""

    text: str
    tokens: list[Token]
    slots: Sequence[Slot]
    fit: Fit | None


class Shape(Enum):
    """What kind of text a Func answered with."""

    NUMBER = "number"
    NUMBERS = "numbers"
    WORDS = "words"
    PROSE = "prose"


# Which shapes may stand where the example has one of the left side.
ACCEPTED = {
    Shape.NUMBER: {Shape.NUMBER},
    Shape.NUMBERS: {Shape.NUMBER, Shape.NUMBERS},
    Shape.WORDS: {Shape.NUMBER, Shape.NUMBERS, Shape.WORDS},
    Shape.PROSE: set(Shape),
}


def shape_of(text: str) -> Shape:
    found = tokens(text)
    words = [token for token in found if token.type is Type.WORD]
    if "\n" in text or len(found) > 14 or (len(words) > 2 and text.endswith((".", "!", "?"))):
        return Shape.PROSE
    numbers = [token for token in found if token.type is Type.NUMBER]
    if not numbers or len(words) > 1:
        return Shape.WORDS
    return Shape.NUMBER if len(numbers) == 1 else Shape.NUMBERS


@dataclass(frozen=True, slots=True)
class Literal:
    text: str

    def made(self, sources: Sequence[Bound]) -> str | None:
        return self.text


@dataclass(frozen=True, slots=True)
class Whole:
    """All of a source. `shape` is what it must be like; None: anything."""

    source: int
    case: Case
    shape: Shape | None

    def made(self, sources: Sequence[Bound]) -> str | None:
        source = sources[self.source]
        if self.shape is not None and shape_of(source.text) not in ACCEPTED[self.shape]:
            return None
        return written(self.case, source.text, source.tokens)


@dataclass(frozen=True, slots=True)
class Copy:
    """What a source has from slot `first` to slot `last`, both included."""

    source: int
    first: int
    last: int
    case: Case

    def made(self, sources: Sequence[Bound]) -> str | None:
        source = sources[self.source]
        captures = source.fit.captures if source.fit else ()
        ends = captures[self.first : self.last + 1]
        filled = [end for end in ends if end is not None]
        if not filled or len(filled) < len(ends):
            return None
        found = source.tokens[filled[0][0] : filled[-1][1]]
        text = source.text[found[0].start : found[-1].end]
        return written(self.case, _trimmed(text, source.slots[self.first : self.last + 1]), found)


_SURROUNDED = re.compile(r"([\"'])(?P<inside>.+)\1|“(?P<curly>.+)”|«(?P<angle>.+)»", re.DOTALL)

_ENDING = re.compile(r"[\s,]*(?:\b(?:please|thanks|thank you)\b)?[\s?.!]*$", re.IGNORECASE)


def _trimmed(text: str, slots: Sequence[Slot]) -> str:
    """Without quotation marks around it and, after numbers, the end of a sentence, where the example has none."""
    example = [token for slot in slots for token in slot.tokens]
    surrounded = _SURROUNDED.fullmatch(text)
    if surrounded and example[0].type is not Type.MARK:
        return surrounded["inside"] or surrounded["curly"] or surrounded["angle"]
    if example[-1].type is not Type.MARK and any(slot.has_number for slot in slots):
        return _ENDING.sub("", text) or text
    return text


@dataclass(frozen=True, slots=True)
class Items:
    """The numbers of a source as a list in a sentence: `5, 3, and 8`."""

    source: int
    between: str
    last: str

    def made(self, sources: Sequence[Bound]) -> str | None:
        items = number_list(sources[self.source].tokens)
        if items is None:
            return None
        texts = [token.text for token in items]
        if len(texts) < 3:
            return self._last(len(texts)).join(texts)
        return self.between.join(texts[:-1]) + self.last + texts[-1]

    def _last(self, count: int) -> str:
        """Two items have no comma before `and`."""
        return f" {self.last.lstrip(' ,;')}" if count == 2 and self.last.strip(" ,;") else self.last


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of the numbers of a source."""

    source: int

    def made(self, sources: Sequence[Bound]) -> str | None:
        items = number_list(sources[self.source].tokens)
        return None if items is None else total_of(items)


Piece = Literal | Whole | Copy | Items | Total


@dataclass(frozen=True, slots=True)
class Recipe:
    """A text as its pieces. `is_json`: what goes in is escaped."""

    pieces: tuple[Piece, ...]
    is_json: bool = False

    def made(self, sources: Sequence[Bound]) -> str | None:
        """The text for these sources; None where they lack something it needs."""
        texts: list[str] = []
        for piece in self.pieces:
            text = piece.made(sources)
            if text is None:
                return None
            if self.is_json and not isinstance(piece, Literal):
                text = escaped(text)
            doubled = texts and texts[-1].endswith((".", "!", "?")) and text.startswith(".")
            texts.append(text[1:] if doubled else text)
        return "".join(texts).strip()

    def drawn_from(self) -> set[int]:
        return {piece.source for piece in self.pieces if not isinstance(piece, Literal)}


def number_list(found: Sequence[Token]) -> list[Token] | None:
    """The numbers of a text that holds nothing but numbers with commas between; else None."""
    numbers = [token for token in found if token.type is Type.NUMBER]
    others = {token.text for token in found if token.type is not Type.NUMBER}
    return numbers if numbers and others <= {",", ";"} else None


def total_of(numbers: Sequence[Token]) -> str | None:
    try:
        return str(sum(Decimal(token.key[1:]) for token in numbers))
    except InvalidOperation:
        return None


def is_json(text: str) -> bool:
    """Whether `text` is a JSON object or array, so that what is put into it must be escaped."""
    if not text.startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def escaped(text: str) -> str:
    """`text` as it stands inside a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def has_loose_numbers(text: str) -> bool:
    """Whether a literal text holds a number that nothing explains. `one` is too common to count."""
    return any(token.type is Type.NUMBER and token.text.casefold() != "one" for token in tokens(text))


def content_of(found: Sequence[Token]) -> list[Token]:
    return [token for token in found if is_content(token)]
