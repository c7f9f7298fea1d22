"""How passages of documents stand in a transcript: written by the built-in Funcs, read by the few-shot follower."""

import re
from collections.abc import Sequence

from registry.corpora.passages import Passage

SEARCHES = ("query_corpus", "query_embed")
PREFIX = "fixie_"
# Of one passage; longer ones come from documents that are a single long line.
PASSAGE_MAX = 2000

# How agents with documents answer that have no few-shots: those of the original needed none.
CORPUS_FEW_SHOTS = (
    """Q: When is it open on weekends?
Ask Func[fixie_query_corpus]: When is it open on weekends?
Func[fixie_query_corpus] says: [1] Visiting us — https://example.com/visit
On weekdays from 9 to 5. On Saturdays we close at noon.
A: On Saturdays until noon (https://example.com/visit).""",
)

# `[1] Title — https://…` and the passage in the lines below, then an empty line.
_NUMBERED = re.compile(r"\[\d+\] (?P<source>[^\n]+)\n(?P<text>.+)", re.DOTALL)
_BLANK_LINES = re.compile(r"\s*\n\s*\n\s*")


def is_search(func: str) -> bool:
    """Whether this is the name of a built-in Func that answers with passages."""
    return func.removeprefix(PREFIX) in SEARCHES


def written(passages: Sequence[Passage]) -> str:
    """The passages, numbered, each under its title and source."""
    return "\n\n".join(f"[{number}] {_written(passage)}" for number, passage in enumerate(passages, start=1))


def _written(passage: Passage) -> str:
    title = " ".join(passage.title.split())
    source = f"{title} — {passage.source}" if title and title != passage.source else passage.source
    return f"{source}\n{_BLANK_LINES.sub(chr(10), passage.text.strip())[:PASSAGE_MAX]}"


def best_of(text: str) -> str:
    """The first of the `written` passages as an answer to a person, with its source and what else was said.

    Any other text as it is.
    """
    paragraphs = text.split("\n\n")
    first = _NUMBERED.fullmatch(paragraphs[0])
    if first is None:
        return text
    notes = [paragraph for paragraph in paragraphs if not _NUMBERED.fullmatch(paragraph)]
    return "\n\n".join([first["text"], f"Source: {first['source']}", *notes])
