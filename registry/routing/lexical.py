"""The stand-in for an embedding model: words and parts of words, hashed. It sees spelling, not sense."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from registry.routing.vectors import DIMENSIONS, Vectors, unit

NAME = "lexical"
# Three letters in common say less than a word.
GRAM = 3
GRAM_WEIGHT = 0.5
MAX_CHARACTERS = 4096
BATCH = 64


def words(text: str) -> list[str]:
    """The words of `text` in small letters, in its order; a text in any script has some."""
    return re.findall(r"\w+", text[:MAX_CHARACTERS].casefold())


def batches(texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
    """Some texts together: their places and their vectors, until all texts have had theirs."""
    for start in range(0, len(texts), BATCH):
        chunk = texts[start : start + BATCH]
        yield list(range(start, start + len(chunk))), vectors(chunk)


def vectors(texts: Sequence[str]) -> Vectors:
    """One row for each text, the same in every process. A text without words gets zeros."""
    rows = np.zeros((len(texts), DIMENSIONS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for feature, count in Counter(_features(text)).items():
            code = zlib.crc32(feature.encode("utf-8", "replace"))
            # The sign makes features that fall on one place cancel out on average.
            sign = 1 if code & 1 else -1
            weight = GRAM_WEIGHT if feature.startswith("#") else 1.0
            row[(code >> 1) % DIMENSIONS] += sign * weight * count**0.5
    return unit(rows)


def _features(text: str) -> Iterator[str]:
    for word in words(text):
        yield word
        marked = f"<{word}>"
        yield from (f"#{marked[at : at + GRAM]}" for at in range(len(marked) - GRAM + 1))
