"""Cutting a query into requests: where its words say so, and nowhere else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.runner.splitting import LONGEST, filled, is_request, parts, stands_alone


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "how far is 3 miles in km, and what is 15 % of that?",
            ["how far is 3 miles in km", "what is 15 % of that?"],
        ),
        ("roll three dice and then tell me the time", ["roll three dice", "tell me the time"]),
        (
            "Roll a die. Then flip a coin. Finally, tell me today's date.",
            ["Roll a die.", "flip a coin.", "tell me today's date."],
        ),
        ("What is 3.5 + 2? Also, convert 3 miles to km", ["What is 3.5 + 2?", "convert 3 miles to km"]),
        ("first roll a die then flip a coin", ["roll a die", "flip a coin"]),
        ("roll 2 dice & flip a coin", ["roll 2 dice", "flip a coin"]),
        ("roll a die, flip a coin and add 3 and 4", ["roll a die", "flip a coin", "add 3 and 4"]),
        ("Can you roll a die and could you flip two coins?", ["Can you roll a die", "could you flip two coins?"]),
        ("20 celsius in fahrenheit; 12 + 30", ["20 celsius in fahrenheit", "12 + 30"]),
        ("1. roll a die\n2. flip a coin\n3. what is 2+2?", ["roll a die", "flip a coin", "what is 2+2?"]),
        ("1) roll a die 2) flip a coin", ["roll a die", "flip a coin"]),
        ("Answer these questions:\n- what is 2+2\n- how far is 3 mi in km", ["what is 2+2", "how far is 3 mi in km"]),
        ('Write "one and then two" backwards and roll a die', ['Write "one and then two" backwards', "roll a die"]),
    ],
)
def test_it_is_cut_where_one_request_ends_and_another_begins(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "roll 3 and 4 dice",
        "salt and pepper",
        "Roll 3d6 and add them up",
        "count the words in rock and roll music",
        "convert 5 feet and 11 inches to cm",
        "how far is 3 miles in km and in yards?",
        "What is the sum of 3 and 4?",
        "Tell Dr. Smith to call me at 10.30 tomorrow",
        "which is bigger, a mile or a km?",
        "How many days between 2027-01-01 and 2027-12-25?",
        "Count the words in: It rained. And then what did we do?",
        'What does "roll a die and flip a coin" mean',
        "Explain (roll a die and flip a coin) please",
        "```\nroll a die\n```\nExplain the code and write a test",
        "Translate:\n- dog\n- cat",
        "3. roll a die 7. flip a coin",
        "Wie weit sind 3 Meilen in km, und was sind 15 % davon?",
        "würfle drei Würfel und sag mir die Zeit",
        "3マイルは何キロですか、そしてその15%は？",  # noqa: RUF001
        "roll",
        "",
    ],
)
def test_what_belongs_together_stays_together(text: str) -> None:
    assert parts(text) == [text]


def test_a_long_text_and_a_long_list_stay_whole() -> None:
    text = "roll a die and flip a coin. " * 100
    assert len(text) > LONGEST
    assert parts(text) == [text.strip()]
    many = "\n".join(f"{number}. roll a die" for number in range(1, 20))
    assert parts(many) == [many]


@given(st.text(alphabet=st.sampled_from("a7 .,;:?!\n\"'`()-and then roll what is #1"), max_size=300))
def test_parts_are_pieces_of_the_text_in_their_order(text: str) -> None:
    place = 0
    for part in parts(text):
        place = text.index(part, place) + len(part)


@pytest.mark.parametrize(
    "text", [" " * 1990 + "x", "and " * 490, "\n" * 1990, ", then " * 280, "(" * 1990, "please " * 280]
)
def test_no_text_takes_long(text: str) -> None:
    start = time.perf_counter()
    parts(f"x{text}x")
    filled(text, "7")
    assert time.perf_counter() - start < 0.5


def test_questions_and_commands_begin_like_requests() -> None:
    for text in ("What is it", "please roll a die", "can you tell me the date", "is it 7", "I want to know what it is"):
        assert is_request(text), text
    for text in ("70 kg in pounds", "pepper", "whatever", "rolling", "I was born in 1990", ""):
        assert not is_request(text), text


def test_a_part_that_speaks_of_what_another_has_named_does_not_stand_alone() -> None:
    for text in (
        "who discovered penicillin?",
        "roll two dice",
        "what is the capital of Italy",
        "is there life on Mars?",
    ):
        assert stands_alone(text), text
    for text in (
        "tell me its weight",
        "what is 15 % of that?",
        "Double the result",
        "who made them",
        "explain why It is",
    ):
        assert not stands_alone(text), text


@pytest.mark.parametrize(
    ("part", "answer", "expected"),
    [
        ("what is 15 % of that?", "3 miles = 4.82803 kilometers", "what is 15 % of 4.82803?"),
        ("what is that in yards?", "3 miles = 4.82803 kilometers", "what is 4.82803 kilometers in yards?"),
        ("convert it to miles", "It is 5 km.", "convert 5 km to miles"),
        ("double the result", "1 + 6 = 7", "double 7"),
        ("what is the square root of that", "The answer is -2.5e3.", "what is the square root of -2.5e3"),
        ("count the letters in it", "regal", "count the letters in regal"),
        ("add it up", "5 3 8", "add 5 3 8 up"),
        ("what time is it in Paris?", "regal", "what time is it in Paris?"),
        ("is it raining?", "7", "is it raining?"),
        ("tell me that you love me", "7", "tell me that you love me"),
        ("what is that day called?", "7", "what is that day called?"),
        ("what is 15 % of that?", "x" * 100, "what is 15 % of that?"),
        ("what is 15 % of that?", "1\n2", "what is 15 % of that?"),
        ("what is 15 % of that?", "", "what is 15 % of that?"),
    ],
)
def test_a_word_that_refers_to_the_answer_before_is_replaced_by_it(part: str, answer: str, expected: str) -> None:
    assert filled(part, answer) == expected
