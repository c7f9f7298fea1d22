"""The text statistics agent: its figures, and texts that are made to be awkward."""

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.agents.serving import AgentError, Call
from examples.agents.textstats import FUNCS, letters

FIGURES = [
    ("words", "The quick brown fox", "4 words"),
    ("words", "one", "1 word"),
    ("words", "It's a well-known don’t", "4 words"),  # noqa: RUF001
    ("words", "...", "0 words"),
    ("words", "Привет, мир! 你好", "3 words"),
    ("characters", "Hello, world!", "13 characters, 12 without spaces"),
    ("characters", '"strawberry"', "10 characters"),
    ("characters", "e\u0301tude", "5 characters"),
    ("sentences", "It rained. We stayed! Did you? Yes", "4 sentences"),
    ("sentences", "Version 1.2 is out... really.", "2 sentences"),
    ("sentences", 'He said "Go." Then he went.', "2 sentences"),
    ("reading_time", "word " * 230, "1 minute"),
    ("reading_time", "word " * 300, "1 minute 18 seconds"),
    ("reading_time", "word", "1 second"),
    ("frequent", "to be or not to be", "to (2), be (2)"),
    ("frequent", "The the THE cat", "the (3)"),
    ("longest", "Fourscore and seven years ago", "Fourscore"),
    ("reverse", "stressed", "desserts"),
    ("reverse", "a👩‍🚀b", "b👩‍🚀a"),
    ("summary", "Less is more.", "3 words, 13 characters, 11 without spaces, 1 sentence, 1 second to read"),
]


@pytest.mark.parametrize(("func", "text", "figure"), FIGURES)
def test_it_measures_a_text(client: Any, func: str, text: str, figure: str) -> None:
    assert client("textstats").call(f"/textstats/{func}", text).text == figure


@pytest.mark.parametrize("func", FUNCS)
@pytest.mark.parametrize("text", ["", "  ", '""'])
def test_it_asks_for_a_text_where_there_is_none(client: Any, func: str, text: str) -> None:
    answer = client("textstats").call(f"/textstats/{func}", text)
    assert answer.status == 400
    assert "Which text?" in answer.text


@pytest.mark.parametrize(
    "text", [".", "." * 30_000 + "x", "a-" * 30_000, '"' * 30_000, " " * 60_000 + "x", "\u0301" * 10_000]
)
def test_awkward_texts_take_no_time(client: Any, text: str) -> None:
    began = time.monotonic()
    assert client("textstats").call("/textstats/summary", text).status == 200
    assert time.monotonic() - began < 1


@given(st.text())
def test_reversing_twice_gives_the_text_back(text: str) -> None:
    assert "".join(letters(text)) == text


@given(st.sampled_from(sorted(FUNCS)), st.text())
def test_it_raises_nothing_but_its_own_error(func: str, text: str) -> None:
    with contextlib.suppress(AgentError):
        assert FUNCS[func](Call(text, {}, None)) is not None
