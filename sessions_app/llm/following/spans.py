"""Finding in one text of an example what it has from the others."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sessions_app.llm.following.words import Token, is_content

SENTENCE_MARKS = frozenset(".,;:!?…\"'\u201c\u201d\u2018\u2019")


@dataclass(frozen=True, slots=True)
class Span:
    """`start:end` of the target's characters is what source `source` has in its tokens `first:last`."""

    source: int
    first: int
    last: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """A text of the example that a later one may draw on. `allowed` says which of its tokens may be drawn."""

    tokens: list[Token]
    allowed: Callable[[int, int], bool] = lambda first, last: True


def find_spans(target: list[Token], sources: Sequence[Source]) -> list[Span]:
    """What of `target` stands in the sources: the longest pieces first come, without overlap.

    A source that stands in the target as a whole goes before a piece of another as long; then earlier sources.
    """
    found: list[Span] = []
    used: set[tuple[int, int]] = set()
    at = 0
    while at < len(target):
        best = _longest(target, at, sources, used)
        if best is None:
            at += 1
            continue
        found.append(best)
        used.add((best.source, best.first))
        at += best.last - best.first
    return found


def _longest(target: list[Token], at: int, sources: Sequence[Source], used: set[tuple[int, int]]) -> Span | None:
    best: Span | None = None
    best_rank = (0, False, False)
    for number, source in enumerate(sources):
        for first, token in enumerate(source.tokens):
            if token.key != target[at].key or len(source.tokens) - first < best_rank[0]:
                continue
            length = _run_length(target, at, source, first)
            rank = (length, length == len(source.tokens), (number, first) not in used)
            if length and rank > best_rank:
                end = target[at + length - 1].end
                best = Span(number, first, first + length, target[at].start, end)
                best_rank = rank
    return best


def _run_length(target: list[Token], at: int, source: Source, first: int) -> int:
    """How many tokens from `at` are those of the source from `first`, without punctuation at their ends."""
    length, tokens = 0, source.tokens
    while at + length < len(target) and first + length < len(tokens):
        one, other = target[at + length], tokens[first + length]
        if one.key != other.key or (length and one.glued != other.glued):
            break
        length += 1
    if first == 0 and length == len(tokens) and source.allowed(0, length):
        return length
    while length and not _may_end(source, first, length):
        length -= 1
    if not length or tokens[first].text in SENTENCE_MARKS:
        return 0
    is_all = length == len(target)
    return length if is_all or any(map(is_content, tokens[first : first + length])) else 0


def _may_end(source: Source, first: int, length: int) -> bool:
    last = source.tokens[first + length - 1]
    return last.text not in SENTENCE_MARKS and source.allowed(first, first + length)
