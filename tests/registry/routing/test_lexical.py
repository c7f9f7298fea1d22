"""The stand-in for an embedding model: what it can tell, it tells."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.routing.lexical import vectors


@given(st.lists(st.text(st.characters()), max_size=5))
def test_any_text_gets_a_vector_of_length_one_or_zero(texts):
    lengths = np.linalg.norm(vectors(texts), axis=1)
    assert vectors(texts).shape == (len(texts), 384)
    assert all(length == pytest.approx(1, abs=1e-5) or length == 0 for length in lengths)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("Roll three dice", "please roll 3 dice", "how far is it to Rome"),
        ("Where is my package?", "where are my packages", "roll three dice"),
        ("брось три кубика", "Брось кубик", "сколько стоит билет"),
        ("東京 の 天気", "東京 の 天気 は", "サイコロ を 振る"),
    ],
)
def test_texts_with_words_in_common_are_near(query, near, far):
    asked, right, wrong = vectors([query, near, far])
    assert asked @ right > asked @ wrong + 0.2


def test_another_process_gives_the_same_vectors():
    script = "from registry.routing.lexical import vectors; print(vectors(['roll three dice']).tobytes().hex())"
    other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == vectors(["roll three dice"]).tobytes().hex()
