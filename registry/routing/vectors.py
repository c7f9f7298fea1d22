"""Vectors as all of the routing has them: rows of 384 float32 of length 1, so that a product is a cosine."""

import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 384

Vectors = NDArray[np.float32]


def unit(vectors: Vectors) -> Vectors:
    """The rows at length 1. A row of zeros stays: it is like nothing."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    rows: Vectors = vectors / np.maximum(lengths, np.float32(1e-12))
    return rows
