"""Aligning a text with an example of it: words that should be the same, and slots whose content may differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from sessions_app.llm.following.words import (
    Token,
    Type,
    Vocabulary,
    is_content,
)

# What the parts of an alignment are worth, in the weight of words (2.0 a word, 3.0 a number, 0.4 a stopword).
SKIPPED, UNEXPLAINED, UNFILLED = 0.35, 0.6, 3.0
NEVER = float("-inf")
# The words of an example's slot are meant to be replaced, so they count little where they are.
OTHER_WORDS, MOST_OTHER = 0.15, 1.5
# Marks that a text may well begin with.
OPENERS = frozenset("([{<-+$€£#@/\"'\u201c\u2018\u00ab")
CLOSERS = frozenset(")]}%")


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in the example whose content is used elsewhere: `tokens` are what the example has there."""

    tokens: tuple[Token, ...]
    keys: frozenset[str]

    @classmethod
    def of(cls, tokens: Sequence[Token]) -> "Slot":
        return cls(tuple(tokens), frozenset(token.key for token in tokens))

    @property
    def is_number(self) -> bool:
        return len(self.tokens) == 1 and self.tokens[0].type is Type.NUMBER

    @property
    def has_number(self) -> bool:
        return any(token.type is Type.NUMBER for token in self.tokens)

    @property
    def is_free(self) -> bool:
        """Several words: a text of any length may stand here."""
        return len(self.tokens) > 2

    @property
    def is_upper(self) -> bool:
        first = self.tokens[0].text
        return first.isupper() and len(first) > 1

    def surplus(self, held: Sequence[Token]) -> float:
        """What a capture of these tokens says beyond what the example's does, in the weight of words."""
        if self.is_free and not self.has_number:
            return 0.0
        words = [token.weight for token in held if token.type is Type.WORD and is_content(token)]
        known = sum(token.type is Type.WORD and is_content(token) for token in self.tokens)
        surplus = 0.3 * sum(words[known:])
        if not self.is_free:
            surplus += 0.5 * max(_pieces(held) - _pieces(self.tokens), 0)
        is_foreign = not self.has_number and any(token.type is Type.NUMBER for token in held)
        return surplus + is_foreign


def _pieces(tokens: Sequence[Token]) -> int:
    """How many pieces white space cuts the tokens into, less one."""
    return sum(not token.glued for token in tokens[1:])


Element = Token | Slot


class Move(IntEnum):
    SKIP = 0
    MATCH = 1
    INSERT = 2
    FILL = 3


@dataclass(frozen=True, slots=True)
class Fit:
    """How well a text fits a pattern, and what it has in the slots (token ranges; None: not filled).

    `similarity` is 0 to 1, `matched` the weight of what is alike, `common` the number of telling words in both.
    `unexplained` are the tokens of the text, `skipped` those of the example that have no counterpart;
    `replaced` pairs those of both that stand in the same place.
    """

    captures: tuple[tuple[int, int] | None, ...]
    similarity: float
    matched: float
    common: int
    unexplained: tuple[Token, ...]
    skipped: tuple[Token, ...]
    replaced: tuple[tuple[tuple[Token, ...], tuple[Token, ...]], ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """An example text as words and slots, in order."""

    elements: tuple[Element, ...]

    @property
    def anchors(self) -> list[Token]:
        return [element for element in self.elements if isinstance(element, Token)]

    @property
    def slots(self) -> list[Slot]:
        return [element for element in self.elements if isinstance(element, Slot)]

    def fit(self, found: list[Token], vocabulary: Vocabulary) -> Fit:
        """The best alignment of a text's tokens with this pattern. Never raises; always the same."""
        keys = vocabulary.keys(found)
        moves = _Table(self.elements, found, keys).moves()
        return _Tally(found, keys).over(self.elements, moves)


class _Table:
    """The dynamic programme: row i, column j holds the best score of i elements and j tokens."""

    def __init__(self, elements: Sequence[Element], found: list[Token], keys: list[str]) -> None:
        self._elements = elements
        self._found = found
        self._keys = keys
        self._inserts = [UNEXPLAINED * token.weight for token in found]
        # Once a text has capitals, a lower-case word is no further part of a name in capitals.
        self._has_capitals = any(token.is_name for token in found)

    def moves(self) -> list[tuple[Move, int, int]]:
        """(move, element, token) from the first to the last."""
        row, back = self._first_row()
        table = [back]
        extends: list[list[bool]] = [[]]
        for element in self._elements:
            if isinstance(element, Slot):
                row, back, extending = self._slot_row(element, row)
            else:
                (row, back), extending = self._anchor_row(element, row), []
            table.append(back)
            extends.append(extending)
        return self._traced(table, extends)

    def _first_row(self) -> tuple[list[float], list[Move]]:
        row = [0.0]
        for cost in self._inserts:
            row.append(row[-1] - cost)
        return row, [Move.INSERT] * len(row)

    def _anchor_row(self, anchor: Token, above: list[float]) -> tuple[list[float], list[Move]]:
        key, weight = anchor.key, anchor.weight
        skip = SKIPPED * weight
        row, back = [above[0] - skip], [Move.SKIP]
        for j, (token_key, insert) in enumerate(zip(self._keys, self._inserts, strict=True)):
            best, move = above[j + 1] - skip, Move.SKIP
            if token_key == key and above[j] + weight >= best:
                best, move = above[j] + weight, Move.MATCH
            if row[j] - insert > best:
                best, move = row[j] - insert, Move.INSERT
            row.append(best)
            back.append(move)
        return row, back

    def _slot_row(self, slot: Slot, above: list[float]) -> tuple[list[float], list[Move], list[bool]]:
        row, back, extending = [above[0] - UNFILLED], [Move.SKIP], [False]
        inside = NEVER
        for j, insert in enumerate(self._inserts):
            begun = above[j] + self._begin(slot, j)
            going_on = inside + self._extend(slot, j)
            inside, extended = (going_on, True) if going_on > begun else (begun, False)
            best, move = inside, Move.FILL
            if row[j] - insert > best:
                best, move = row[j] - insert, Move.INSERT
            if above[j + 1] - UNFILLED > best:
                best, move = above[j + 1] - UNFILLED, Move.SKIP
            row.append(best)
            back.append(move)
            extending.append(extended)
        return row, back, extending

    def _begin(self, slot: Slot, j: int) -> float:
        token = self._found[j]
        if slot.is_number:
            if token.type is Type.NUMBER:
                return 2.0
            return 0.3 if token.key in ("a", "an") else NEVER
        if token.type is Type.NUMBER:
            return 1.2 if slot.has_number or slot.is_free else 0.3
        same = token.weight if self._keys[j] in slot.keys else 0.0
        if token.type is Type.WORD:
            if len(slot.tokens) == 1 and not is_content(token):
                return same - 0.3
            if slot.has_number and not is_content(token):
                return same + 0.9
            return same + 1.2 + (0.4 if slot.is_upper and token.text.isupper() else 0.0)
        if token.text in OPENERS:
            return 1.25 if slot.is_free else -0.2
        return 1.0 if slot.is_free and token.type is Type.REST else -0.5

    def _extend(self, slot: Slot, j: int) -> float:
        token = self._found[j]
        if slot.is_number:
            return NEVER
        # A mark counts as the example's where the example ends in it: the `!` of `7!` is no end of a sentence.
        if self._keys[j] in slot.keys and (token.type is Type.WORD or self._keys[j] == slot.tokens[-1].key):
            return token.weight
        if slot.is_free:
            return -0.3 if slot.has_number and not is_content(token) and token.type is Type.WORD else 0.0
        if token.type is Type.REST:
            return -2.0
        if token.type is Type.MARK:
            return -0.5 if not token.glued else -0.05 if token.text in CLOSERS else -0.15
        if token.glued:
            return 0.0
        if slot.is_upper and self._has_capitals and not token.is_name:
            return -1.3
        return -0.1 if len(slot.tokens) > 1 else -0.25 if is_content(token) else -0.35

    def _traced(self, table: list[list[Move]], extends: list[list[bool]]) -> list[tuple[Move, int, int]]:
        i, j = len(table) - 1, len(self._found)
        moves: list[tuple[Move, int, int]] = []
        while i or j:
            move = table[i][j]
            moves.append((move, i - 1, j - 1))
            if move is Move.FILL:
                while extends[i][j]:
                    j -= 1
                    moves.append((Move.FILL, i - 1, j - 1))
            i -= move is not Move.INSERT
            j -= move is not Move.SKIP
        return moves[::-1]


class _Tally:
    """Adds up what an alignment explains."""

    def __init__(self, found: list[Token], keys: list[str]) -> None:
        self._found = found
        self._keys = keys
        self._captures: dict[int, tuple[int, int]] = {}
        self._matched = self._only_text = self._only_example = 0.0
        self._common = 0
        self._gaps: list[tuple[list[Token], list[Token]]] = [([], [])]

    def over(self, elements: Sequence[Element], moves: list[tuple[Move, int, int]]) -> Fit:
        for move, i, j in moves:
            element = elements[i] if move is not Move.INSERT else None
            if isinstance(element, Slot):
                self._slot(element, i, j if move is Move.FILL else None)
            elif move is Move.MATCH and element is not None:
                self._matched += element.weight
                self._common += is_content(element)
                self._gaps.append(([], []))
            elif element is not None:
                self._only_example += element.weight
                self._gaps[-1][1].append(element)
            else:
                self._only_text += self._found[j].weight
                self._gaps[-1][0].append(self._found[j])
        self._add_slots(elements)
        return self._fit(elements)

    def _slot(self, slot: Slot, i: int, j: int | None) -> None:
        if j is None:
            self._only_example += sum(token.weight for token in slot.tokens)
            return
        start, _ = self._captures.get(i, (j, j))
        self._captures[i] = (start, j + 1)
        self._gaps.append(([], []))

    def _add_slots(self, elements: Sequence[Element]) -> None:
        """A filled slot is evidence too: much where the words are the example's, some where the type is."""
        for i, (start, end) in self._captures.items():
            slot = elements[i]
            assert isinstance(slot, Slot)
            held = self._found[start:end]
            is_typed = slot.has_number and any(token.type is Type.NUMBER for token in held)
            self._matched += 1.0 if is_typed else 0.5
            self._only_text += slot.surplus(held)
            keys = set(self._keys[start:end])
            words = [token for token in slot.tokens if token.type is Type.WORD]
            same = [token for token in words if token.key in keys]
            self._matched += sum(token.weight for token in same)
            self._common += sum(map(is_content, same))
            self._only_example += min(OTHER_WORDS * sum(t.weight for t in words if t.key not in keys), MOST_OTHER)

    def _fit(self, elements: Sequence[Element]) -> Fit:
        whole = 0.6 * (self._matched + self._only_text) + 0.4 * (self._matched + self._only_example)
        slots = [i for i, element in enumerate(elements) if isinstance(element, Slot)]
        return Fit(
            captures=tuple(self._captures.get(i) for i in slots),
            similarity=self._matched / whole if whole else 0.0,
            matched=self._matched,
            common=self._common,
            unexplained=tuple(token for text, _ in self._gaps for token in text),
            skipped=tuple(token for _, example in self._gaps for token in example),
            replaced=tuple((tuple(text), tuple(example)) for text, example in self._gaps if text and example),
        )
