"""Passages: they fit the embedder, lose nothing, and are cut where a reader would cut."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from registry.corpora.chunks import chunks
from registry.routing.minilm import MAX_TOKENS, folder
from tests.sites import ROOT

SENTENCE = "The quick brown fox jumps over the lazy dog."
PARAGRAPH = " ".join([SENTENCE] * 6)


def test_a_short_text_is_one_passage() -> None:
    assert chunks("  Just this.\n") == ["Just this."]
    assert chunks(" \n\n ") == chunks("") == []


def test_passages_end_with_paragraphs() -> None:
    text = "\n\n".join(f"{number} {PARAGRAPH}" for number in range(9))
    found = chunks(text, overlap=0)
    assert "".join(re.sub(r"\s", "", passage) for passage in found) == re.sub(r"\s", "", text)
    assert all(re.match(r"\d ", passage) for passage in found)
    assert 2 <= len(found) <= 9


def test_a_heading_begins_a_passage_and_stays_with_its_text() -> None:
    sections = [f"## Part {number}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}" for number in range(5)]
    found = chunks("\n\n".join(sections))
    for number in range(5):
        (passage,) = [passage for passage in found if f"## Part {number}" in passage]
        assert passage.startswith(f"## Part {number}\n\nThe quick")


def test_short_sections_share_a_passage() -> None:
    assert len(chunks("\n\n".join(f"# {number}\n\nShort." for number in range(5)))) == 1


def test_long_paragraphs_are_cut_between_sentences_and_overlap() -> None:
    sentences = [f"Sentence number {number} says this and that." for number in range(100)]
    found = chunks(" ".join(sentences))
    assert len(found) > 3
    for passage, following in pairwise(found):
        assert passage.startswith("Sentence number")
        assert passage.endswith("this and that.")
        repeated = [sentence for sentence in sentences if sentence in passage and sentence in following]
        assert 1 <= len(repeated) <= 3


def test_sentences_without_spaces_between_them_are_cut_too() -> None:
    text = "今天天气很好。我们去公园散步。" * 100
    found = chunks(text, overlap=0)
    assert "".join(found) == text
    assert all(passage.endswith("。") for passage in found)


def test_words_are_cut_only_if_one_alone_is_too_long() -> None:
    words = [f"word{number}" for number in range(1000)]
    assert set(" ".join(chunks(" ".join(words))).split()) == set(words)
    assert "".join(chunks("x" * 5000, overlap=0)) == "x" * 5000


def test_the_number_of_passages_is_bounded() -> None:
    assert len(chunks(f"{PARAGRAPH}\n\n" * 5000)) == 2000
    assert len(chunks(PARAGRAPH * 50, most=3)) == 3


@given(st.text(max_size=3000), st.integers(100, 1000))
def test_nothing_is_lost_whatever_the_text(text: str, size: int) -> None:
    found = chunks(text, size=size, overlap=0)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(passage.strip() == passage != "" for passage in found)
    assert all(len(passage) <= size for passage in found)


@pytest.mark.parametrize(
    "text",
    [
        (ROOT / "docs/architecture.md").read_text(),
        (ROOT / "docs/wire.md").read_text(),
        Path(__file__).read_text(),
        "今天天气很好。我们去公园散步。" * 200,
        "Сегодня хорошая погода, и мы идём гулять в парк. " * 100,
        "الطقس جميل اليوم ونحن ذاهبون إلى الحديقة. " * 100,
        "\n".join(f"| a{number} | {number * 7} | foo_bar{number}() |" for number in range(300)),
    ],
    ids=["prose", "documents", "code", "chinese", "russian", "arabic", "table"],
)
def test_passages_fit_the_embedder(text: str) -> None:
    model = folder()
    if model is None:
        pytest.skip("the model is not installed")
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()
    assert max(len(tokenizer.encode(passage).ids) for passage in chunks(text)) <= MAX_TOKENS
