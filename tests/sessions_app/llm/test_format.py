"""The Code Shot text format: what is read, and that what is written is read back the same."""

from hypothesis import given
from hypothesis import strategies as st

from sessions_app.llm.format import (
    ASKS,
    REPLIES,
    Kind,
    Line,
    could_be_marker,
    funcs_named,
    marker,
    parse,
    parse_few_shot,
    quoted,
    read_step,
    render,
)

names = st.from_regex(r"[a-z]\w{0,8}(/[a-z-]{1,5})?", fullmatch=True)
# Texts that love to look like markers.
texts = st.one_of(
    st.text(max_size=40),
    st.lists(
        st.sampled_from(["A: x", "Q:", " Func[a] says: b", "Ask Func[a]: 1", "Thought:", "", "  A:", "word", "#"]),
        max_size=5,
    ).map("\n".join),
).map(str.strip)
lines = st.builds(
    lambda kind, name, text: Line(kind, text, name if kind in ASKS | REPLIES else ""),
    st.sampled_from(Kind),
    names,
    texts,
)


@given(st.lists(lines, max_size=6))
def test_a_rendered_transcript_reads_back_as_it_was(transcript: list[Line]) -> None:
    assert parse("\n".join(map(render, transcript))) == transcript


@given(lines)
def test_a_step_may_hold_lines_that_look_like_markers(line: Line) -> None:
    step = f"{marker(line.kind, line.name)} {line.text}"
    assert read_step(step) == line
    assert parse(quoted(step)) == [line]


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    parse(text)
    parse_few_shot(text)
    read_step(text)


@given(lines, st.integers(min_value=0, max_value=150))
def test_a_marker_is_expected_from_its_first_letter_to_its_last(line: Line, length: int) -> None:
    assert could_be_marker(marker(line.kind, line.name)[:length])


def test_prose_is_no_marker() -> None:
    for text in ("Quite", "A dog", "Functions", "Ask me", "Ask Func[x]!", "Func[x] said", "Func[" + "x" * 200):
        assert not could_be_marker(text)


def test_a_few_shot_is_its_question_its_steps_and_its_answer() -> None:
    [shot] = parse_few_shot(
        "Q: Sum 1 and 2\nThought: I add.\nAsk Func[add]: 1\n2\nFunc[add] says: 3\nAsk Agent[me/poet]: 3\n"
        "Agent[me/poet] says: three\nA: Three.\n\nThat is all."
    )
    assert shot.question == "Sum 1 and 2"
    assert shot.steps == (
        Line(Kind.THOUGHT, "I add."),
        Line(Kind.ASK_FUNC, "1\n2", "add"),
        Line(Kind.FUNC_SAYS, "3", "add"),
        Line(Kind.ASK_AGENT, "3", "me/poet"),
        Line(Kind.AGENT_SAYS, "three", "me/poet"),
    )
    assert shot.answer == "Three.\n\nThat is all."


def test_a_conversational_few_shot_holds_several_questions() -> None:
    shots = parse_few_shot("Q: Hi\nA: Hello\nQ: And you?\nAsk Func[mood]: me\nFunc[mood] says: fine\nA: Fine.")
    assert [(shot.question, shot.answer, len(shot.steps)) for shot in shots] == [
        ("Hi", "Hello", 0),
        ("And you?", "Fine.", 2),
    ]


def test_two_hashes_are_one_in_few_shots_only() -> None:
    [shot] = parse_few_shot("Q: Who uses ##fixie in #1?\nAsk Func[tag]: ##fixie\nFunc[tag] says: #1\nA: ##1")
    assert shot.question == "Who uses #fixie in #1?"
    assert shot.steps[0].text == "#fixie"
    assert shot.answer == "#1"
    assert parse("A: ## Title")[0].text == "## Title"


def test_set_in_lines_and_windows_line_ends_are_read() -> None:
    [shot] = parse_few_shot("  Q: Hi\r\n\tAsk Func[a]: x\r\n  Func[a] says: y\r\n  A: Hello\r\n")
    assert (shot.question, shot.steps[0].text, shot.answer) == ("Hi", "x", "Hello")


def test_a_question_without_an_answer_is_left_out() -> None:
    assert parse_few_shot("Q: Hi\nQ: Ho\nA: He") == parse_few_shot("Q: Ho\nA: He")
    assert parse_few_shot("A: alone") == []


def test_the_funcs_of_few_shots_are_known_with_their_arguments() -> None:
    few_shots = ("Q: a\nAsk Func[x]: 1\nFunc[x] says: 2\nFunc[now] says: noon\nA: b", "Q: c\nAsk Func[x]:\nA: d")
    assert funcs_named(few_shots) == {"x": ["1", ""], "now": []}
