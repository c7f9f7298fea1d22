"""Which passages answer a question: near it in meaning, with its words, and not all from one place. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from registry.routing.lexical import words

# What the question's words add to the cosine, where a passage has all of them.
WORDS = 0.3
# Below this cosine a passage has nothing to do with the question.
NEAR = 0.15
# Of one document first come so many; more only where others have none to offer.
A_DOCUMENT = 2


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document. `source` is its URL or name; `score` is about 1 where it is the question itself."""

    text: str
    source: str
    title: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that comes into question: the `position`th of the document with the key `document`."""

    text: str
    source: str
    title: str
    document: int
    position: int
    similarity: float


def best(question: str, found: Sequence[Found], k: int, *, least: float = NEAR) -> list[Passage]:
    """The `k` best, the best first; none that stands next to another, repeats it, or is less near than `least`."""
    near = [one for one in found if one.similarity >= least]
    shares = _shares(question, [one.text for one in near])
    scores = {id(one): one.similarity + WORDS * share for one, share in zip(near, shares, strict=True)}
    near.sort(key=lambda one: -scores[id(one)])
    chosen = _diverse(near, k, A_DOCUMENT)
    chosen += _diverse(near, k - len(chosen), k, chosen)
    return [Passage(one.text, one.source, one.title, scores[id(one)]) for one in chosen]


def _shares(question: str, texts: Sequence[str]) -> list[float]:
    """How much of the question's words each text has, 0 to 1; those that few of the texts have weigh more."""
    asked = set(words(question))
    found = [asked & set(words(text)) for text in texts]
    counts = Counter(word for known in found for word in known)
    weight = {word: log(1 + len(texts) / count) for word, count in counts.items()}
    whole = sum(weight.values()) or 1.0
    return [sum(weight[word] for word in known) / whole for known in found]


def _diverse(near: Sequence[Found], k: int, a_document: int, known: Sequence[Found] = ()) -> list[Found]:
    """The first `k` that are neither next to one of the others or of those `known`, nor the same text."""
    taken, counts = list(known), Counter(one.document for one in known)
    for one in near:
        if len(taken) - len(known) == k:
            break
        if counts[one.document] < a_document and not any(_overlap(one, other) for other in taken):
            taken.append(one)
            counts[one.document] += 1
    return taken[len(known) :]


def _overlap(one: Found, other: Found) -> bool:
    is_next = one.document == other.document and abs(one.position - other.position) <= 1
    return is_next or one.text == other.text
