"""Few-shots: what is accepted, and how each mistake is named."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from registry.manifests.few_shots import normalised, problems_of, split_few_shots

GENRAND = """Q: Generate a random number between 0 and 19.
Ask Func[genrand]: 0, 19
Func[genrand] says: 17
A: The random number is 17."""

GOOD = [
    GENRAND,
    "Q: Hi\nA: Hello",
    "Q:Hi\nA:",
    "  Q: Hi  \n\tA: Hello \n\n",
    "Q: Hi\nThought: A greeting.\nAsk Agent[polite]: Hi\nAgent[polite] says: Hello\nA: Hello",
    "Q: Hi\nAsk Agent[owner/my-agent]: Hi\nAgent[owner/my-agent] says: Hello\nA: Hello",
    "Q: Sum\nAsk Func[a]: 1\nFunc[a] says: 2\nAsk Func[_b2]: 2\nFunc[_b2] says: 3\nA: 3",
    "Q: What is 12 + 15?\nAgent[calc] says: 27\nA: It's 27.",
    "Q: Draw\nAsk Func[draw]: line one\nline two\n\nline four\nFunc[draw] says: done\nreally\nA: Here\nit is: #1",
    "Q: Who?\nAsk Func[hashtag]: ##fixie\nFunc[hashtag] says: @fixie\nA: Ask Func, they say.",
    "Q: Où?\nAsk Func[bibliothèque]: x\nFunc[bibliothèque] says: y\nA: là",
]

# few-shot, line of the problem, a word of its reason
BAD = [
    ("", 1, "empty"),
    ("\n\n", 2, "empty"),
    ("A: Hello", 1, "starts with `Q:`"),
    ("Hi\nQ: Hi\nA: Hello", 1, "starts with `Q:`"),
    ("Q:\nA: Hello", 1, "holds no query"),
    ("Q: Hi", 1, "ends without an `A:`"),
    ("Q: Hi\nAsk Func[x]: 1\nFunc[x] says: 2", 3, "ends without an `A:`"),
    ("Q: Hi\nQ: Ho\nA: Hello", 2, "second `Q:`"),
    ("Q: Hi\nA: Hello\nA: Again", 3, "second `A:`"),
    ("Q: Hi\nAsk Func[x]: 1\nA: Hello", 2, "must follow"),
    ("Q: Hi\nAsk Func[x]: 1\nAsk Func[y]: 1\nFunc[y] says: 2\nA: Hello", 2, "must follow"),
    ("Q: Hi\nAsk Func[x]: 1\nFunc[y] says: 2\nA: Hello", 3, "was expected here"),
    ("Q: Hi\nAsk Func[x]: 1\nAgent[x] says: 2\nA: Hello", 3, "was expected here"),
    ("Q: Hi\nAsk Func[a b]: 1\nFunc[a b] says: 2\nA: Hello", 2, "letters, digits and _"),
    ("Q: Hi\nAsk Func[]: 1\nFunc[] says: 2\nA: Hello", 2, "letters, digits and _"),
    ("Q: Hi\nAsk Agent[a b]: 1\nAgent[a b] says: 2\nA: Hello", 2, "handle"),
    ("Q: Hi\nAsk Func[x] 1\nA: Hello", 2, "is written"),
    ("Q: Hi\nFunc[x] says 2\nA: Hello", 2, "is written"),
    ("Q: Hi\nA: Hello\nAsk Func[x]: 1\nFunc[x] says: 2\nA: Again", 3, "only a new `Q:`"),
]


@pytest.mark.parametrize("few_shot", GOOD)
def test_a_good_few_shot_has_no_problems(few_shot: str) -> None:
    assert problems_of(few_shot, 1, conversational=False) == []


@pytest.mark.parametrize(("few_shot", "line", "reason"), BAD)
def test_a_bad_few_shot_is_told_where_and_why(few_shot: str, line: int, reason: str) -> None:
    problem = problems_of(few_shot, 7, conversational=True)[0]
    assert (problem.few_shot, problem.line) == (7, line)
    assert reason in problem.reason


def test_only_a_conversational_agent_may_hold_several_questions() -> None:
    several = "Q: Guess\nA: Ready.\nQ: Is it red?\nA: No."
    assert problems_of(several, 1, conversational=True) == []
    (problem,) = problems_of(several, 1, conversational=False)
    assert (problem.line, problem.text) == (3, "Q: Is it red?")


def test_every_problem_is_listed_and_long_lines_are_shortened() -> None:
    problems = problems_of(f"Hi\nAsk Func[a b]: {'x' * 100}\nA: Hello", 2, conversational=False)
    assert [problem.line for problem in problems] == [1, 2, 2]
    assert str(problems[1]).startswith("Few-shot 2, line 2 (`Ask Func[a b]: xxx")
    assert len(problems[1].text) == 61


def test_few_shots_in_one_text_are_told_apart_like_the_sdk_does() -> None:
    text = "\nQ: one\nA: 1\n\nstill one\n \nQ: two\nA: 2\n"
    assert split_few_shots(text) == ["Q: one\nA: 1\n\nstill one", "Q: two\nA: 2"]


line_text = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20).map(
    lambda text: f"x{text}"
)
exchange = st.tuples(st.from_regex(r"\w{1,8}", fullmatch=True), line_text, line_text, line_text, line_text).map(
    lambda p: f"Q: {p[1]}\nAsk Func[{p[0]}]: {p[2]}\nFunc[{p[0]}] says: {p[3]}\nA: {p[4]}"
)


@settings(deadline=None)
@given(st.lists(exchange, min_size=1, max_size=4))
def test_whatever_is_said_inside_the_form_is_accepted(exchanges: list[str]) -> None:
    few_shot = "\n".join(exchanges)
    assert problems_of(few_shot, 1, conversational=True) == []
    assert normalised(normalised(few_shot)) == normalised(few_shot)


pieces = st.sampled_from(["Q: a", "A: b", "Ask Func[x]: 1", "Func[x] says: 2", "Thought: t", "more", "", "Q:"])


@settings(deadline=None)
@given(st.lists(pieces, max_size=8))
def test_what_is_accepted_starts_with_a_question_and_ends_answered(lines: list[str]) -> None:
    few_shot = "\n".join(lines)
    if not problems_of(few_shot, 1, conversational=False):
        assert normalised(few_shot).startswith("Q:")
        assert [line[:2] for line in lines].count("Q:") == 1
        assert [line[:2] for line in lines].count("A:") == 1
        assert lines.count("Ask Func[x]: 1") <= lines.count("Func[x] says: 2")
