"""`/account/usage`: one's own usage as a chart, tables and a file; credits in pages; nobody else's."""

import csv
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.actions import grant_credits
from common.charts import HEIGHT, Series, bars_by_day, scale_for

if TYPE_CHECKING:
    from accounts.models import User
    from registry.models import Agent

MakeUser = Callable[..., "User"]
TODAY = datetime.now(UTC).date()
GONE = 2**40


@pytest.fixture
def user(make_user: MakeUser) -> "User":
    return make_user()


@pytest.fixture
def browser(user: "User") -> Client:
    return signed_in(user)


@pytest.fixture
def echo_agent(echo: str) -> "Agent":
    from registry.models import Agent

    return Agent.objects.get(owner__handle="fixie", handle="echo")


def signed_in(user: "User") -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def used(user: "User", agent: int | None, day: date, queries: int, tokens: int = 0) -> None:
    from accounts.models import UsageDay

    UsageDay.objects.create(user=user, agent=agent, day=day, queries=queries, prompt_tokens=tokens)


def page_of(browser: Client, **query: object) -> str:
    answer = browser.get("/account/usage", query)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def test_usage_is_shown_by_day_and_agent(user: "User", browser: Client, echo_agent: "Agent") -> None:
    used(user, None, TODAY, 7)
    used(user, echo_agent.pk, TODAY, 5)
    used(user, GONE, TODAY - timedelta(days=2), 2)

    page = page_of(browser)

    assert "7 of 1,000" in page
    assert page.count('class="chart-day"') == 30
    assert re.search(r"fixie/echo 5", page)
    assert f"a deleted agent ({GONE})" in page
    assert "style=" not in page


def test_days_figure_and_agent_can_be_chosen(user: "User", browser: Client, echo_agent: "Agent") -> None:
    used(user, echo_agent.pk, TODAY - timedelta(days=80), 1, tokens=1234)
    used(user, GONE, TODAY, 3)

    assert "fixie/echo" not in page_of(browser)
    longer = page_of(browser, days=90, show="tokens")
    assert longer.count('class="chart-day"') == 90
    assert "fixie/echo" in longer
    assert "1,234" in longer
    one = page_of(browser, days=90, agent=GONE)
    assert "1,234" not in one
    assert f'value="{GONE}" selected' in one


@pytest.mark.parametrize(
    "query", ["days=x&show=y&agent=z", "agent=99999999999999999999999&after=-1", "days=90&days=30"]
)
def test_an_address_that_makes_no_sense_shows_the_beginning(browser: Client, query: str) -> None:
    assert browser.get(f"/account/usage?{query}").status_code == 200


def test_nothing_of_others_is_shown(user: "User", browser: Client, make_user: MakeUser) -> None:
    other = make_user()
    used(other, GONE, TODAY, 77)
    grant_credits(user=other, amount=5, reason="a secret reason", by=make_user(is_superuser=True))

    page = page_of(browser, agent=GONE)

    assert "77" not in re.sub(r'value="\d+"|csrfmiddlewaretoken" value="\w+"', "", page.split("usage-title", 1)[1])
    assert "a secret reason" not in page
    assert "Nothing was asked in this time." in page


def test_the_file_has_every_row_of_these_days(user: "User", browser: Client, echo_agent: "Agent") -> None:
    used(user, None, TODAY, 7)
    used(user, echo_agent.pk, TODAY, 5, tokens=11)

    answer = browser.get("/account/usage.csv", {"days": 90})

    rows = list(csv.reader(answer.content.decode("utf-8-sig").splitlines()))
    assert rows[0] == ["day", "agent", "queries", "prompt_tokens", "completion_tokens"]
    assert rows[1:] == [[str(TODAY), "", "7", "0", "0"], [str(TODAY), "fixie/echo", "5", "11", "0"]]
    assert answer["Content-Disposition"].startswith("attachment; filename=")


def test_credits_come_in_pages(user: "User", browser: Client, make_user: MakeUser) -> None:
    by = make_user(is_superuser=True)
    for number in range(25):
        grant_credits(user=user, amount=number + 1, reason=f"reason {number:02d}.", by=by)

    first = page_of(browser)

    assert "reason 24." in first
    assert "reason 04." not in first
    after = re.search(r"after=(\d+)", first)
    assert after
    second = page_of(browser, after=after[1])
    assert "reason 04." in second
    assert "reason 05." not in second


def test_more_days_and_agents_take_no_more_queries(user: "User", browser: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page_of(browser, days=90)
        return len(captured)

    used(user, GONE, TODAY, 1)
    before = queries()
    for number in range(1, 40):
        used(user, GONE + number, TODAY - timedelta(days=number), number)

    assert queries() == before


def test_a_chart_stacks_whole_numbers_within_its_height() -> None:
    days = [date(2026, 11, day) for day in (1, 2, 3)]
    chart = bars_by_day(days, [Series("a", [0, 3, 1]), Series("b", [2, 4, 100_000])])

    assert chart.scale == [200_000, 100_000, 0]
    assert [column.total for column in chart.columns] == [2, 7, 100_001]
    for column in chart.columns:
        edges = [(bar.y, bar.y + bar.height) for bar in column.bars]
        assert all(0 <= top <= bottom <= HEIGHT for top, bottom in edges)
        assert [top for top, _ in edges[:-1]] == [bottom for _, bottom in edges[1:]]


@pytest.mark.parametrize(
    ("highest", "scale"),
    [(0, [1, 0]), (1, [1, 0]), (2, [2, 1, 0]), (7, [8, 4, 0]), (11, [20, 10, 0]), (101, [200, 100, 0])],
)
def test_a_scale_has_a_round_top(highest: int, scale: list[int]) -> None:
    assert scale_for(highest) == scale
