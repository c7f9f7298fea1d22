"""What operators do to agents from the admin: who may, that it happens, and that the audit log tells of it."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import UsageDay, User
from registry.actions import create_agent
from registry.models import Agent, AgentLog, Corpus, Liveness
from tests.accounts.operators import ASKED, browser_of, staff, superuser, told_of
from tests.registry.readings import reads

AGENTS = "/admin/registry/agent/"
TODAY = datetime.now(UTC).date()


@pytest.fixture
def root() -> User:
    return superuser()


@pytest.fixture
def browser(root: User) -> Client:
    return browser_of(root)


def act(browser: Client, action: str, *agents: Agent, **form: Any) -> Any:
    return browser.post(AGENTS, {"action": action, "_selected_action": [agent.pk for agent in agents], **form})


def shown(browser: Client, path: str, **query: Any) -> str:
    answer = browser.get(path, query)
    assert answer.status_code == 200
    return str(answer.content.decode())


def deferred() -> int:
    """How many jobs there have been; those that are done may be gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT last_value FROM procrastinate_jobs_id_seq")
        return int(cursor.fetchone()[0])


@pytest.mark.parametrize(
    ("page", "action", "before", "after"),
    [
        ("publish", "publish", {"published": False}, {"published": True}),
        ("unpublish", "unpublish", {"published": True}, {"published": False}),
        ("on", "switch_on", {"enabled": False}, {"enabled": True}),
        ("off", "switch_off", {"enabled": True}, {"enabled": False}),
    ],
)
def test_agents_are_changed_from_the_list_and_from_their_page(
    browser: Client, root: User, agent: Agent, page: str, action: str, before: dict[str, bool], after: dict[str, bool]
) -> None:
    for change in (
        lambda: act(browser, action, agent),
        lambda: browser.post(f"{AGENTS}{agent.pk}/{page}/", ASKED),
    ):
        Agent.objects.filter(pk=agent.pk).update(**before)
        assert f"/{agent.pk}/{page}/" in shown(browser, f"{AGENTS}{agent.pk}/change/")
        assert browser.get(f"{AGENTS}{agent.pk}/{page}/").status_code == 200
        assert Agent.objects.filter(pk=agent.pk, **before).exists(), "a look at the question changes nothing"
        change()
        assert Agent.objects.filter(pk=agent.pk, **after).exists()
        assert f"/{agent.pk}/{page}/" not in shown(browser, f"{AGENTS}{agent.pk}/change/")
    [(field, value)] = after.items()
    assert told_of(agent) == [(root.username, f"Set {field}: {value}.")] * 2


def test_manifests_are_read_and_health_is_checked_by_tasks(browser: Client, root: User, agent: Agent) -> None:
    before = deferred()
    browser.post(f"{AGENTS}{agent.pk}/refresh/", ASKED)
    browser.post(f"{AGENTS}{agent.pk}/check/", ASKED)

    assert deferred() >= before + 2
    assert Liveness.objects.filter(agent=agent).exists(), "there is a row for what the check finds"
    assert told_of(agent) == [(root.username, "Had its manifest read again."), (root.username, "Had it checked.")]


def test_an_agent_without_an_address_is_told_apart(browser: Client, people: Any, agent: Agent) -> None:
    bare = create_agent(by=people.owner, handle=f"bare-{uuid.uuid4().hex[:6]}")

    answer = act(browser, "check_health", bare, agent)

    told = browser.get(answer["Location"]).content.decode()
    assert "Done for 1." in told
    assert f"{bare.agent_id}: It runs at no address" in told
    assert [message for _, message in told_of(agent)] == ["Had it checked."]
    assert told_of(bare) == []


def test_corpora_are_read_again_where_there_are_some(browser: Client, root: User, agent: Agent) -> None:
    assert browser.post(f"{AGENTS}{agent.pk}/reindex/", ASKED).status_code == 403
    corpus = Corpus.objects.create(revision=agent.current_revision, position=0, kind="urls", status="ready")
    assert "Read its documents again" in shown(browser, f"{AGENTS}{agent.pk}/change/")

    browser.post(f"{AGENTS}{agent.pk}/reindex/", ASKED)

    assert Corpus.objects.filter(replaces=corpus).exists()
    assert told_of(agent) == [(root.username, "Had its corpora read anew.")]


def test_a_trial_of_the_router_begins_with_what_the_agent_can_be_asked(browser: Client, agent: Agent) -> None:
    Agent.objects.filter(pk=agent.pk).update(queries=["Roll twenty dice"])

    answer = browser.get(f"{AGENTS}{agent.pk}/route/", follow=True)

    assert answer.redirect_chain
    assert "Roll twenty dice</textarea>" in answer.content.decode()


def test_the_page_shows_health_usage_and_the_log_to_who_may_read_it(browser: Client, agent: Agent) -> None:
    Liveness.objects.create(agent=agent, healthy=False, failures=7, error="It hung up.", checked=datetime.now(UTC))
    AgentLog.objects.create(agent=agent, process="host:1", text="a line of its own")
    UsageDay.objects.create(user=superuser(), agent=agent.pk, day=TODAY, queries=4321)
    page = f"{AGENTS}{agent.pk}/change/"

    told = shown(browser, page)
    assert all(words in told for words in ("It hung up.", "a line of its own", "Failing"))
    clerk = browser_of(staff("registry.view_agent"))
    assert "a line of its own" not in shown(clerk, page)
    assert "It hung up." in shown(clerk, page)


def test_the_list_tells_questions_of_today_and_the_week_in_one_statement(
    browser: Client, people: Any, agent: Agent
) -> None:
    asker, prefix = superuser(), agent.owner.handle
    for days, asked in ((0, 11), (6, 100), (7, 5000)):
        UsageDay.objects.create(user=asker, agent=agent.pk, day=TODAY - timedelta(days=days), queries=asked)
    listed = shown(browser, AGENTS, q=prefix)
    assert ">11<" in listed.replace(" ", "").replace("\n", "")
    assert ">111<" in listed.replace(" ", "").replace("\n", "")

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            shown(browser, AGENTS, q=prefix)
        return [each["sql"] for each in captured]

    few = queries()
    for number in range(3):
        more = create_agent(by=people.owner, owner=prefix, handle=f"more-{number}", reading=reads())
        Liveness.objects.create(agent=more)
        UsageDay.objects.create(user=asker, agent=more.pk, day=TODAY, queries=1)

    assert len(queries()) == len(few)
    assert not any("COUNT(*)" in sql for sql in few)


def test_agents_are_filtered_by_health_and_owner(browser: Client, people: Any, agent: Agent) -> None:
    other = create_agent(by=people.outsider, handle="other", reading=reads())
    Liveness.objects.create(agent=agent, healthy=False)
    Liveness.objects.create(agent=other, healthy=True)

    failing = shown(browser, AGENTS, health="failing", owner__id__exact=agent.owner_id)
    assert agent.agent_id in failing
    assert other.agent_id not in failing
    assert agent.agent_id not in shown(browser, AGENTS, health="healthy", q=agent.owner.handle)
    assert agent.agent_id not in shown(browser, AGENTS, health="unchecked", q=agent.owner.handle)
    found = browser.get(
        "/admin/autocomplete/",
        {"app_label": "registry", "model_name": "agent", "field_name": "owner", "term": people.outsider.username},
    )
    assert found.json()["results"] == [{"id": str(people.outsider.owner_id), "text": people.outsider.username}]


@pytest.mark.parametrize("page", ["publish", "off", "refresh", "check", "reindex"])
def test_who_may_only_look_changes_nothing(page: str, agent: Agent, make_user: Callable[..., User]) -> None:
    Corpus.objects.create(revision=agent.current_revision, position=0, kind="urls", status="failed")
    before = Agent.objects.filter(pk=agent.pk).values().get()

    for client, status in (
        (browser_of(staff("registry.view_agent")), 403),
        (browser_of(staff()), 403),
        (browser_of(make_user()), 302),
        (browser_of(None), 302),
    ):
        assert client.post(f"{AGENTS}{agent.pk}/{page}/", ASKED).status_code == status
        for action in ("publish", "switch_off", "refresh_manifests", "check_health"):
            act(client, action, agent, **ASKED)

    assert Agent.objects.filter(pk=agent.pk).values().get() == before
    assert told_of(agent) == []


def test_who_deletes_an_agent_is_told_how_much_goes_with_it(browser: Client, agent: Agent) -> None:
    asked = shown(browser, f"{AGENTS}{agent.pk}/delete/")

    assert "revisions: 1" in asked.lower()
    clerk = browser_of(staff("registry.view_agent", "registry.delete_agent"))
    assert clerk.post(f"{AGENTS}{agent.pk}/delete/", {"post": "yes"}).status_code == 302
    assert not Agent.objects.filter(pk=agent.pk).exists()
