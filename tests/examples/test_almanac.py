"""The almanac: its answers, and how they stream."""

import itertools
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.agents.almanac import HELP, MANIFEST, dates_in, easter, sentences

ANSWERS = {
    "What day is 2027-03-01?": "1 March 2027 is a Monday. It is day 60 of the year, in week 9 of 2027.",
    "what weekday was July 20, 1969?": "20 July 1969 was a Sunday. It was day 201 of the year, in week 29 of 1969.",
    "How many days between 2027-01-01 and 2027-12-25?": "There are 358 days between Friday, 1 January 2027 and"
    " Saturday, 25 December 2027. That is 51 weeks and 1 day.",
    "how many days from 2 March 2027 to 1st March 2027": "There is 1 day between Monday, 1 March 2027 and Tuesday,"
    " 2 March 2027.",
    "What date is 100 days after 2027-03-01?": "It is Wednesday, 9 June 2027.",
    "two weeks before Christmas 2030": "It is Wednesday, 11 December 2030.",
    "1 month after 2027-01-31": "It is Sunday, 28 February 2027.",
    "1 year after 2028-02-29": "It is Wednesday, 28 February 2029.",
    "Is 2028 a leap year?": "Yes, 2028 is a leap year. It has a 29 February, a Tuesday.",
    "is 2100 a leap year": "No, 2100 is not a leap year. A year is one if 4 divides it, and 400 where 100 does.",
    "When is the next leap year after 2096?": "The next leap year after 2096 is 2104.",
    "How many days are in February 2028?": "February 2028 has 29 days.",
    "how many days does 2028 have": "2028 has 366 days.",
    "When is Easter 2038?": "25 April 2038 is a Sunday. It is day 115 of the year, in week 16 of 2038.",
    "2027-02-30": "There is no 30 February in 2027.",
    "2027-13-01": "There is no month 13.",
    "0000-01-01": "That date is out of my calendar, which has the years 1 to 9999.",
    "999999 years from now": "That date is out of my calendar, which has the years 1 to 9999.",
    "May I ask something?": HELP,
    "": HELP,
}


def asked(client: Any, question: str) -> list[str]:
    answer = client("almanac").call("/almanac/", question)
    assert answer.status == 200
    return [line["message"]["text"] for line in answer.document]


@pytest.mark.parametrize("question", ANSWERS)
def test_it_knows_about_dates(client: Any, question: str) -> None:
    assert asked(client, question)[-1] == ANSWERS[question]


@pytest.mark.parametrize("question", MANIFEST["sample_queries"])
def test_every_sample_query_has_an_answer_that_only_grows(client: Any, question: str) -> None:
    lines = asked(client, question)
    assert lines[-1] != HELP
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(lines))


def test_it_takes_the_bare_query_of_the_first_protocol_and_a_path_without_a_slash(client: Any) -> None:
    body = json.dumps({"text": "Is 2027 a leap year?", "embeds": {}}).encode()
    answer = client("almanac").send("POST", "/almanac", body)
    assert answer.document[-1]["message"]["text"].startswith("No, 2027 ")
    assert len(answer.document) == 2
    assert answer.headers["Transfer-Encoding"] == "chunked"


def test_it_knows_what_today_is(client: Any) -> None:
    before, text, after = today(), asked(client, "What is today's date?")[-1], today()
    assert any(text.startswith(f"{day.day} {day:%B} {day.year} is a {day:%A}.") for day in (before, after))


def test_a_day_that_is_asked_for_ahead_is_the_next_one() -> None:
    gone = today() - timedelta(days=40)
    gone -= timedelta(days=gone.day == 29)  # 29 February may have no next one
    [found] = dates_in(f"how many days until {gone:%B} {gone.day}".lower())
    assert today() < found <= today() + timedelta(days=366)


@pytest.mark.parametrize(
    "sunday", [(1818, 3, 22), (1961, 4, 2), (2024, 3, 31), (2025, 4, 20), (2026, 4, 5), (2027, 3, 28), (2038, 4, 25)]
)
def test_easter_is_when_it_was(sunday: tuple[int, int, int]) -> None:
    assert easter(sunday[0]) == date(*sunday)


@given(st.dates())
def test_every_date_is_read_as_it_is_written(day: date) -> None:
    for written in (
        f"{day:%Y-%m-%d}".zfill(10),
        f"{day.day} {day:%B} {day.year:04}",
        f"{day:%b} {day.day}, {day.year:04}",
    ):
        assert dates_in(written.lower()) == [day]


@given(st.text("0123456789- abcdefjlmnoprstuvy?", max_size=80))
def test_it_has_an_answer_to_anything(question: str) -> None:
    assert all(sentences(question))


def today() -> date:
    return datetime.now(UTC).date()
