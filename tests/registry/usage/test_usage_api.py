"""Usage over REST: one's own by day and agent, the ledger of credits, and that of one's agents."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx2
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.actions import grant_credits
from accounts.auth import Caller
from accounts.models import AgentUsage, UsageDay, User
from registry.actions import create_agent, delete_agent
from registry.models import Agent
from registry.usage.api import read_usage
from registry.usage.schemas import UsageFilters

TODAY = datetime.now(UTC).date()


@pytest.fixture
def http(site: Any) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"{site.url}/api") as client:
        yield client


@pytest.fixture
def get(http: httpx2.Client, api_key: Callable[..., str]) -> Callable[..., httpx2.Response]:
    """`get(user, path, **params)`, with a key of theirs; anonymous where user is None."""

    def call(user: User | None, path: str, **params: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {api_key(user)}"} if user else {}
        return http.get(path, headers=headers, params=params)

    return call


def day(ago: int) -> date:
    return TODAY - timedelta(days=ago)


def use(user: User, agent: Agent | None, ago: int, queries: int, prompt: int = 0, completion: int = 0) -> None:
    UsageDay.objects.create(
        user=user,
        agent=agent.pk if agent else None,
        day=day(ago),
        queries=queries,
        prompt_tokens=prompt,
        completion_tokens=completion,
    )


def rows(answer: httpx2.Response) -> list[tuple[Any, ...]]:
    assert answer.status_code == 200, answer.text
    items = answer.json()["items"]
    return [(date.fromisoformat(row["day"]), row["agent"], row["queries"]) for row in items]


def field_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 400, answer.text
    return str(answer.json()["error"]["details"]["field"])


def test_usage_is_told_by_day_and_agent_newest_first_and_is_ones_own(people, agent, get):
    other = create_agent(by=people.owner, handle="other")
    for ago, used in ((0, agent), (0, None), (1, None), (1, other), (1, agent), (40, None)):
        use(people.owner, used, ago, queries=10 + ago, prompt=3, completion=4)
    use(people.outsider, None, 0, queries=99)

    answer = get(people.owner, "/usage")

    assert rows(answer) == [
        (day(0), None, 10),
        (day(0), agent.agent_id, 10),
        (day(1), None, 11),
        (day(1), agent.agent_id, 11),
        (day(1), other.agent_id, 11),
    ]
    assert {(row["prompt_tokens"], row["completion_tokens"]) for row in answer.json()["items"]} == {(3, 4)}
    assert answer.json()["next"] is None
    assert rows(get(people.owner, "/usage", since=day(50), until=day(2))) == [(day(40), None, 50)]
    assert rows(get(people.teammate, "/usage")) == []


def test_the_summary_tells_what_is_left_of_today(people, get):
    administrator = User.objects.create_superuser(f"root-{people.owner.username}")
    grant_credits(user=people.owner, amount=7, reason="a gift", by=administrator)
    use(people.owner, None, 0, queries=3, prompt=20, completion=1)
    use(people.owner, None, 1, queries=500)

    today = get(people.owner, "/usage").json()["today"]

    ends = datetime.fromisoformat(today.pop("resets_at"))
    assert ends == datetime.combine(TODAY + timedelta(days=1), datetime.min.time(), UTC)
    assert today == {"used": 3, "limit": 1000, "tokens": 21, "token_limit": 1_000_000, "credits": 7}


def test_one_agent_and_one_kind_can_be_asked_for(people, agent, get):
    use(people.owner, agent, 0, queries=0, prompt=5)
    use(people.owner, agent, 1, queries=2)
    use(people.owner, None, 1, queries=2)

    assert rows(get(people.owner, "/usage", agent=agent.agent_id)) == [
        (day(0), agent.agent_id, 0),
        (day(1), agent.agent_id, 2),
    ]
    assert get(people.owner, "/usage", kind="prompt_tokens").json()["items"] == [
        {
            "day": day(0).isoformat(),
            "agent": agent.agent_id,
            "queries": None,
            "prompt_tokens": 5,
            "completion_tokens": None,
        }
    ]
    assert [row["queries"] for row in get(people.owner, "/usage", kind="queries").json()["items"]] == [2, 2]


def test_agents_that_are_gone_or_hidden_keep_their_rows_without_a_name(people, agent, get):
    deleted = create_agent(by=people.owner, handle="deleted")
    hidden = create_agent(by=people.owner, handle="hidden")
    use(people.outsider, deleted, 0, queries=1)
    use(people.outsider, hidden, 0, queries=2)
    number = deleted.pk
    delete_agent(agent=deleted)

    assert rows(get(people.outsider, "/usage")) == [
        (day(0), f"(gone {number})", 1),
        (day(0), f"(gone {hidden.pk})", 2),
    ]
    refused = get(people.outsider, "/usage", agent=hidden.agent_id)
    assert (refused.status_code, refused.json()["error"]["details"]["field"]) == (404, "agent")


def test_pages_go_through_everything_once(people, agent, get):
    other = create_agent(by=people.owner, handle="other")
    for ago in range(4):
        for used in (None, agent, other):
            use(people.owner, used, ago, queries=1)
    found, after = [], ""
    while after is not None:
        page = get(people.owner, "/usage", limit=5, after=after)
        found += rows(page)
        after = page.json()["next"]
    assert found == rows(get(people.owner, "/usage"))
    assert len(found) == len(set(found)) == 12


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"since": "yesterday"}, "since"),
        ({"until": "2026-02-30"}, "until"),
        ({"since": "2026-02-02", "until": "2026-02-01"}, "since"),
        ({"since": "2020-01-01", "until": "2021-01-01"}, "since"),
        ({"until": "0001-01-01"}, "until"),
        ({"kind": "money"}, "kind"),
        ({"agent": "nobody"}, "agent"),
        ({"limit": 501}, "limit"),
        ({"limit": 0}, "limit"),
        ({"after": "x"}, "after"),
        ({"after": "2026-01-01"}, "after"),
        ({"after": "2026-01-01.99999999999999999999"}, "after"),
        ({"after": "\0.1"}, "after"),
    ],
)
def test_what_makes_no_sense_is_refused_and_named(params, field, people, get):
    assert field_of(get(people.owner, "/usage", **params)) == field


def test_366_days_are_the_most(people, get):
    use(people.owner, None, 365, queries=1)
    assert rows(get(people.owner, "/usage", since=day(365), until=TODAY)) == [(day(365), None, 1)]
    assert field_of(get(people.owner, "/usage", since=day(366), until=TODAY)) == "since"


def test_usage_takes_the_same_number_of_queries_however_much_there_is(people, agent):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            read_usage(Request(), UsageFilters())
        return len(captured)

    class Request:
        auth = Caller(people.owner.pk, None)

    use(people.owner, agent, 0, queries=1)
    before = queries()
    assert before > 1
    for number in range(5):
        use(people.owner, create_agent(by=people.owner, handle=f"more-{number}"), 0, queries=1)
    assert queries() == before


def test_the_ledger_is_told_newest_first_in_pages_and_only_ones_own(people, get):
    administrator = User.objects.create_superuser(f"root-{people.owner.username}")
    for amount in (5, -2, 4):
        grant_credits(user=people.owner, amount=amount, reason=f"because of {amount}", by=administrator)
    grant_credits(user=people.outsider, amount=99, reason="theirs", by=administrator)

    first = get(people.owner, "/usage/credits", limit=2).json()
    rest = get(people.owner, "/usage/credits", limit=2, after=first["next"]).json()

    assert first["credits"] == 7
    lines = [*first["items"], *rest["items"]]
    assert [(line["amount"], line["reason"], line["run"]) for line in lines] == [
        (4, "because of 4", None),
        (-2, "because of -2", None),
        (5, "because of 5", None),
    ]
    assert rest["next"] is None
    assert administrator.username not in str(lines)
    assert field_of(get(people.owner, "/usage/credits", after="x")) == "after"


def test_the_owners_of_an_agent_see_what_all_users_asked_and_nobodys_name(people, agent, get):
    Agent.objects.filter(pk=agent.pk).update(published=True, daily_query_limit=50)
    use(people.owner, agent, 1, queries=2, prompt=10, completion=1)
    use(people.outsider, agent, 1, queries=3, prompt=20, completion=2)
    use(people.outsider, agent, 0, queries=4, prompt=1)
    use(people.outsider, None, 0, queries=9)
    AgentUsage.objects.create(agent=agent.pk, day=TODAY, slot=0, queries=5)
    AgentUsage.objects.create(agent=agent.pk, day=TODAY, slot=9, queries=1)

    for member in (people.owner, people.teammate):
        answer = get(member, f"/agents/{agent.agent_id}/usage")
        told = answer.json()
        ends = told["today"].pop("resets_at")
        assert datetime.fromisoformat(ends).date() == TODAY + timedelta(days=1)
        assert told == {
            "agent": agent.agent_id,
            "today": {"used": 6, "limit": 50, "tokens": 1, "token_limit": None},
            "items": [
                {"day": day(0).isoformat(), "queries": 4, "prompt_tokens": 1, "completion_tokens": 0},
                {"day": day(1).isoformat(), "queries": 5, "prompt_tokens": 30, "completion_tokens": 3},
            ],
        }
        assert people.outsider.username not in answer.text
    assert field_of(get(people.owner, f"/agents/{agent.agent_id}/usage", since="x")) == "since"


def test_what_is_not_yours_is_not_told(people, agent, get):
    Agent.objects.filter(pk=agent.pk).update(published=True)
    assert get(people.outsider, f"/agents/{agent.agent_id}/usage").status_code == 404
    for path in ("/usage", "/usage/credits", f"/agents/{agent.agent_id}/usage"):
        assert get(None, path).status_code == 401
