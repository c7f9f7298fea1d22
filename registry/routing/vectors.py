"""Vectors as all of the routing has them: rows of 384 float32 of length 1, so that a product is a cosine."""

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384

Vectors = NDArray[np.float32]

# The database has half of float32's bits, three decimal digits: twice as much of the index is in a cache. This is more
# than three times as quick as joining.
_AS_TEXT = f"[{','.join(['%.5g'] * DIMENSIONS)}]"


def unit(vectors: Vectors) -> Vectors:
    """The rows at length 1. A row of zeros stays: it is like nothing."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    rows: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return rows


def as_text(vector: Vectors) -> str:
    """One row as a pgvector literal."""
    return _AS_TEXT % tuple(vector.tolist())
