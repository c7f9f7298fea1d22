"""Few-shots taken apart once: how each example's calls and its answer were made from what came before them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from sessions_app.llm.following.patterns import Element, Pattern, Slot
from sessions_app.llm.following.recipes import (
    Case,
    Copy,
    Items,
    Literal,
    Piece,
    Recipe,
    Total,
    Whole,
    case_of,
    has_loose_numbers,
    is_json,
    number_list,
    shape_of,
    total_of,
)
from sessions_app.llm.following.spans import Source, Span, find_spans
from sessions_app.llm.following.words import Token, Type, Vocabulary, all_tokens
from sessions_app.llm.format import ASKS, REPLIES, Kind, Line, Shot, parse_few_shot

# A longer text of an example is compared by its beginning only; one with more calls is not followed at all.
EXAMPLE_TOKENS = 60
MOST_CALLS = 8
SEPARATOR = re.compile(r"[\s,;&+]*(?:\b(?:and|or|plus)\b)?\s*")
SAYS_TOTAL = re.compile(r"\b(?:total|sum|altogether|add(?:s|ed|ing)? up)", re.IGNORECASE)


# A piece of a target, with the characters `start:end` that it stands for.
Placed = tuple[int, int, Piece]


@dataclass(frozen=True, slots=True)
class Call:
    """One `Ask` of an example: the thoughts before it, how its argument is made, and what was answered."""

    ask: Line
    argument: Recipe
    thoughts: tuple[Recipe, ...]
    output: str


@dataclass(frozen=True, slots=True)
class Example:
    """A few-shot's question and answer. `patterns` belong to the question and to each call's output.

    `answer` is None where the example's answer holds something that no other text of it explains.
    """

    shot: Shot
    patterns: tuple[Pattern, ...]
    vocabularies: tuple[Vocabulary, ...]
    calls: tuple[Call, ...]
    thoughts: tuple[Recipe, ...]
    answer: Recipe | None
    required: frozenset[int]

    def used_outputs(self) -> set[int]:
        """The calls (from 1) whose output a later argument or the answer draws on."""
        recipes = [call.argument for call in self.calls] + ([self.answer] if self.answer else [])
        return {source for recipe in recipes for source in recipe.drawn_from()} - {0}


@dataclass(frozen=True, slots=True)
class Entry:
    """An example before it is taken apart, with the words of its question and their weights."""

    shot: Shot
    is_followup: bool
    words: dict[str, float]


@dataclass(frozen=True, slots=True)
class Library:
    """All examples of an agent."""

    entries: tuple[Entry, ...]
    vocabulary: Vocabulary


@lru_cache(maxsize=128)
def library(few_shots: tuple[str, ...]) -> Library:
    """The examples of an agent's few-shots that can be followed: those with a question and not too many calls."""
    entries: list[Entry] = []
    found: list[Token] = []
    for text in few_shots:
        for number, shot in enumerate(parse_few_shot(text)):
            if shot.question and sum(line.kind in REPLIES for line in shot.steps) <= MOST_CALLS:
                question = _tokens(shot.question)
                words = {token.key: token.weight for token in question if token.type is Type.WORD}
                entries.append(Entry(shot, number > 0, words))
                found += question
    return Library(tuple(entries), Vocabulary(found))


@lru_cache(maxsize=1024)
def analysed(shot: Shot) -> Example:
    """How the texts of an example were made from each other."""
    return _Analysis(shot).example()


def _tokens(text: str) -> list[Token]:
    return all_tokens(text, EXAMPLE_TOKENS)


@dataclass(slots=True)
class _Asked:
    """A call as it stands in the few-shot."""

    ask: Line
    thoughts: list[str] = field(default_factory=list)
    output: str = ""


def _calls_of(steps: Sequence[Line]) -> tuple[list[_Asked], list[str]]:
    """The calls, and the thoughts after the last. An answer that was not asked for is asked for without words."""
    calls: list[_Asked] = []
    thoughts: list[str] = []
    waiting = False
    for line in steps:
        if line.kind is Kind.THOUGHT:
            thoughts.append(line.text)
        elif line.kind in ASKS:
            calls.append(_Asked(line, thoughts))
            thoughts, waiting = [], True
        elif line.kind in REPLIES:
            if not waiting:
                kind = Kind.ASK_FUNC if line.kind is Kind.FUNC_SAYS else Kind.ASK_AGENT
                calls.append(_Asked(Line(kind, "", line.name), thoughts))
                thoughts = []
            calls[-1].output, waiting = line.text, False
    return calls, thoughts


class _Analysis:
    """Finds out where each text of one example comes from."""

    def __init__(self, shot: Shot) -> None:
        self._shot = shot
        self._calls, self._last_thoughts = _calls_of(shot.steps)
        self._texts = [shot.question, *(call.output for call in self._calls)]
        self._tokens = [_tokens(text) for text in self._texts]
        self._arguments = [self._spans(call.ask.text, number) for number, call in enumerate(self._calls, start=1)]
        asked = [span for spans in self._arguments for span in spans]
        self._ranges = [self._cut(source, asked) for source in range(len(self._texts))]
        answer = self._spans(shot.answer, len(self._texts), only_known=True)
        self._answer = answer if self._calls else []
        self._ranges = [self._cut(source, asked + self._answer) for source in range(len(self._texts))]

    def example(self) -> Example:
        arguments = [
            self._recipe(call.ask.text, spans) for call, spans in zip(self._calls, self._arguments, strict=True)
        ]
        required = {
            slot
            for recipe in arguments
            for piece in recipe.pieces
            if isinstance(piece, Copy) and piece.source == 0
            for slot in range(piece.first, piece.last + 1)
        }
        return Example(
            shot=self._shot,
            patterns=tuple(self._pattern(source) for source in range(len(self._texts))),
            vocabularies=tuple(Vocabulary(found) for found in self._tokens),
            calls=tuple(
                Call(call.ask, recipe, self._thoughts(call.thoughts, number), call.output)
                for number, (call, recipe) in enumerate(zip(self._calls, arguments, strict=True), start=1)
            ),
            thoughts=self._thoughts(self._last_thoughts, len(self._texts)),
            answer=self._answer_recipe(),
            required=frozenset(required),
        )

    def _spans(self, target: str, sources: int, *, only_known: bool = False) -> list[Span]:
        """What of `target` comes from the first `sources` texts.

        `only_known`: of the question, only what arguments use, and names and numbers.
        """
        known = [
            Source(
                found,
                (lambda first, last: self._is_known(first, last)) if only_known and not number else _anything,
            )
            for number, found in enumerate(self._tokens[:sources])
        ]
        spans: list[Span] = []
        for span in find_spans(_tokens(target), known):
            rest = self._goes_on(span)
            if not self._is_whole_output(span) or target[span.end :].startswith(rest):
                spans.append(span)
            if rest and rest == target[span.end :]:
                break
        return spans

    def _is_known(self, first: int, last: int) -> bool:
        """Whether the answer may take these tokens of the question: what arguments use, a number, a name, a count."""
        found = self._tokens[0][first:last]
        if len(found) == 1 and (found[0].is_name or found[0].type is Type.NUMBER):
            return True
        ranges = self._ranges[0]
        covered = {i for start, end in ranges for i in range(start, end)}
        if not covered >= set(range(first, last)):
            return False
        at_edges = first in {start for start, _ in ranges} and last in {end for _, end in ranges}
        return at_edges or _is_count(found)

    def _cut(self, source: int, spans: Sequence[Span]) -> list[tuple[int, int]]:
        """The pieces of a source that are used, cut wherever one use begins or ends, and after a count."""
        found = self._tokens[source]
        used = [span for span in spans if span.source == source and not self._is_whole_output(span)]
        cuts = {edge for span in used for edge in (span.first, span.last)}
        cuts |= {span.first + 1 for span in used if _is_count(found[span.first : span.last])}
        covered = {i for span in used for i in range(span.first, span.last)}
        edges = sorted(cuts)
        return [(a, b) for a, b in pairwise(edges) if a in covered]

    def _is_whole_output(self, span: Span) -> bool:
        return span.source > 0 and span.last - span.first == len(self._tokens[span.source])

    def _pattern(self, source: int) -> Pattern:
        found, at = self._tokens[source], 0
        elements: list[Element] = []
        for first, last in self._ranges[source]:
            elements += [*found[at:first], Slot.of(found[first:last])]
            at = last
        return Pattern((*elements, *found[at:]))

    def _recipe(self, target: str, spans: Sequence[Span]) -> Recipe:
        return _assembled(target, self._placed(target, spans))

    def _placed(self, target: str, spans: Sequence[Span]) -> list[Placed]:
        return [(span.start, self._end(span, target), self._piece(span, target)) for span in spans]

    def _end(self, span: Span, target: str) -> int:
        """Where the span ends: with the target, where both texts go on alike beyond the tokens looked at."""
        return len(target) if self._goes_on(span) == target[span.end :] else span.end

    def _goes_on(self, span: Span) -> str:
        """What follows the span in its source, where that has more tokens than are looked at."""
        found = self._tokens[span.source]
        is_long = len(found) == EXAMPLE_TOKENS and span.last >= EXAMPLE_TOKENS - 1
        return self._texts[span.source][found[span.last - 1].end :] if is_long else ""

    def _piece(self, span: Span, target: str) -> Piece:
        found = self._tokens[span.source][span.first : span.last]
        source = self._texts[span.source][found[0].start : found[-1].end]
        number = len(found) == 1 and found[0].type is Type.NUMBER
        case = case_of(source, target[span.start : span.end], number=number)
        if self._is_whole_output(span):
            is_all = target.strip(" .") == target[span.start : self._end(span, target)].strip(" .")
            shape = None if is_all else shape_of(self._texts[span.source])
            return Whole(span.source, Case.SAME if number else case, shape)
        ranges = self._ranges[span.source]
        first = next(i for i, (start, _) in enumerate(ranges) if start == span.first)
        last = next(i for i, (_, end) in enumerate(ranges) if end == span.last)
        return Copy(span.source, first, last, case)

    def _thoughts(self, texts: Sequence[str], sources: int) -> tuple[Recipe, ...]:
        """How the thoughts are made, without those that hold a number from nowhere."""
        recipes = [self._recipe(text, self._known_spans(text, sources)) for text in texts]
        return tuple(recipe for recipe in recipes if not _has_loose_numbers(recipe))

    def _known_spans(self, text: str, sources: int) -> list[Span]:
        """Spans of `text` whose edges are those of slots that exist already."""
        edges = [({start for start, _ in ranges}, {end for _, end in ranges}) for ranges in self._ranges[:sources]]
        return [
            span
            for span in self._spans(text, sources, only_known=True)
            if self._is_whole_output(span)
            or (span.first in edges[span.source][0] and span.last in edges[span.source][1])
        ]

    def _answer_recipe(self) -> Recipe | None:
        answer = self._shot.answer
        placed = self._placed(answer, self._answer)
        lists = [
            (source, numbers)
            for source, found in enumerate(self._tokens)
            if source and len(numbers := number_list(found) or []) > 1
        ]
        for source, numbers in lists:
            placed = _with_list(answer, placed, numbers, source)
        recipe = _assembled(answer, placed)
        for source, numbers in lists:
            recipe = _with_total(recipe, total_of(numbers), source) if SAYS_TOTAL.search(answer) else recipe
        return None if self._calls and _has_loose_numbers(recipe) else recipe


def _anything(first: int, last: int) -> bool:
    return True


def _is_count(found: Sequence[Token]) -> bool:
    """`3 miles`: a number and its unit, which are two things."""
    return len(found) == 2 and found[0].type is Type.NUMBER and found[1].type is Type.WORD and not found[1].glued


def _assembled(target: str, placed: Sequence[Placed]) -> Recipe:
    pieces: list[Piece] = []
    at = 0
    for start, end, piece in placed:
        pieces += [Literal(target[at:start]), piece]
        at = end
    pieces.append(Literal(target[at:]))
    return Recipe(_without_empty(pieces), is_json(target))


def _without_empty(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    return tuple(piece for piece in pieces if not (isinstance(piece, Literal) and not piece.text))


def _has_loose_numbers(recipe: Recipe) -> bool:
    return any(isinstance(piece, Literal) and has_loose_numbers(piece.text) for piece in recipe.pieces)


def _with_list(answer: str, placed: list[Placed], numbers: Sequence[Token], source: int) -> list[Placed]:
    """`placed` with the list of just these numbers as one piece, where the answer has one."""
    if any(isinstance(piece, Whole) and piece.source == source for _, _, piece in placed):
        return placed
    found = iter(_tokens(answer))
    items = [next((token for token in found if token.key == number.key), None) for number in numbers]
    listed = [item for item in items if item is not None]
    gaps = [answer[one.end : two.start] for one, two in pairwise(listed)]
    if len(listed) < len(numbers) or not all(SEPARATOR.fullmatch(gap) for gap in gaps):
        return placed
    start, end = listed[0].start, listed[-1].end
    between = gaps[0] if len(gaps) > 1 or not gaps[0].strip(" ,;") else ", "
    others = [part for part in placed if part[1] <= start or part[0] >= end]
    return sorted([*others, (start, end, Items(source, between, gaps[-1]))], key=lambda part: part[0])


def _with_total(recipe: Recipe, total: str | None, source: int) -> Recipe:
    """The recipe with the first literal number that is this total as a piece of its own."""
    for at, piece in enumerate(recipe.pieces):
        if not isinstance(piece, Literal):
            continue
        for token in _tokens(piece.text):
            if token.key == f"#{total}":
                before, after = piece.text[: token.start], piece.text[token.end :]
                made = (Literal(before), Total(source), Literal(after))
                return Recipe(_without_empty((*recipe.pieces[:at], *made, *recipe.pieces[at + 1 :])))
    return recipe
