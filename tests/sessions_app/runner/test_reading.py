"""Reading a completion as it is written: however it is cut into pieces, the same comes out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.llm.format import ASKS, Kind, Line
from sessions_app.runner.reading import AnswerText, CompletionReader

MARKERS = ("A:", "Q:", "Thought:", "Ask Func[x]:", "Func[x] says:", "Ask Agent[a/b]:", "Agent[a/b] says:")
words = st.sampled_from([*MARKERS, "\n", "\n", " ", "word", "Func[", "As", "\x00", "\ud800", "é", "  A: "])
completions = st.lists(words, max_size=14).map("".join)


def read(*pieces: str) -> tuple[list[Line], str, CompletionReader]:
    """The lines, the answer as the streamed texts give it, and the reader itself."""
    reader = CompletionReader()
    found = [item for piece in pieces for item in reader.feed(piece)] + reader.finish()
    lines, texts = [], []
    for item in found:
        if isinstance(item, AnswerText):
            texts.append(item.text)
        else:
            lines.append(item)
            texts.clear()
    return lines, "".join(texts), reader


@given(completions, st.lists(st.integers(min_value=0, max_value=80), max_size=6))
def test_pieces_make_no_difference(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(edges)]
    lines, answer, reader = read(*pieces)
    whole_lines, whole_answer, whole = read(text)
    assert (lines, answer, reader.unmarked) == (whole_lines, whole_answer, whole.unmarked)
    assert read(*text)[:2] == (lines, answer)


@given(completions)
def test_what_is_streamed_is_the_answer(text: str) -> None:
    lines, answer, reader = read(*text)
    assert answer == reader.answer == reader.answer.strip()
    assert sum(line.kind in ASKS for line in lines) + bool(answer) + bool(reader.unmarked) <= 1
    assert reader.is_done


@pytest.mark.parametrize(
    ("text", "lines", "answer"),
    [
        ("A: Hello\nthere.\n\n- one\n", [], "Hello\nthere.\n\n- one"),
        (" \nA:Hello", [], "Hello"),
        ("Thought: I look.\nAsk Func[x]: a\nb\n\nc\n", [(Kind.THOUGHT, "I look."), (Kind.ASK_FUNC, "a\nb\n\nc")], ""),
        ("Sure, here you go:\nA: 5", [], "5"),
        ("Q: What?\nA: 5", [], "5"),
        ("A: 5\nQ: And now?\nA: 6", [], "5"),
        ("A: Pick one:\nA: Paris\nB: Rome", [], "Pick one:\nA: Paris\nB: Rome"),
        ("Ask Func[x]: 1\nFunc[x] says: 2\nA: 2", [(Kind.ASK_FUNC, "1")], ""),
        ("Ask Func[x]: 1\nAsk Func[y]: 2", [(Kind.ASK_FUNC, "1")], ""),
        ("Func[x] says: 2\nA: 2", [], ""),
        ("A: Let me look.\nAsk Func[x]: 1", [(Kind.THOUGHT, "Let me look."), (Kind.ASK_FUNC, "1")], ""),
        ("Ask Agent[me/poet]: cats", [(Kind.ASK_AGENT, "cats")], ""),
        ("Thought:\nA: a\x00b\ud800", [], "ab"),
        ("A: Function\nFunc[x] and\nAsk me", [], "Function\nFunc[x] and\nAsk me"),
        ("", [], ""),
        ("Thought: hm", [(Kind.THOUGHT, "hm")], ""),
    ],
)
def test_a_completion_is_read_as_a_careful_person_would(text: str, lines: list[tuple[Kind, str]], answer: str) -> None:
    found, streamed, _ = read(text)
    assert [(line.kind, line.text) for line in found] == lines
    assert streamed == answer


def test_text_without_any_marker_is_kept() -> None:
    assert read("  Just a text.\n")[2].unmarked == "Just a text."
    assert read("Text\nThought: no")[2].unmarked == ""


def test_an_answer_is_streamed_without_waiting_for_its_end() -> None:
    reader = CompletionReader()
    assert reader.feed("A: One") == [AnswerText("One")]
    assert reader.feed(" two") == [AnswerText(" two")]
    assert reader.feed("\n") == []
    assert reader.feed("Func") == []
    assert reader.feed("tions") == [AnswerText("\nFunctions")]
    assert reader.feed("\nFunc[x] says: 1") == []
    assert reader.is_done
