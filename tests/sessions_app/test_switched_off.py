"""Agents that are switched off: who may do that and where, and what those hear who ask one."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.utils import timezone

from accounts.models import Organization, User
from accounts.organizations import save_organization
from registry.liveness import checks
from registry.models import Agent, Liveness, Revision
from sessions_app.models import Run
from sessions_app.pages import starters_for
from tests.agents import Behaviour, ScriptedAgent
from tests.registry.admin.test_usage_admin import browser_of
from tests.sessions_app.asking import asks, says
from tests.sessions_app.people import Person, error_of, wait_until
from tests.sessions_app.queries import make_agent
from tests.sessions_app.rows import run_at_work
from tests.sessions_app.streaming import held
from tests.sessions_app.test_views import signed_in
from tests.sites import Site

MakePerson = Callable[..., Person]


@pytest.fixture
def owner(person: MakePerson) -> Person:
    return person()


@pytest.fixture
def off(owner: Person) -> Agent:
    """A published agent of the owner's that is switched off."""
    return make_agent(owner.user.owner, enabled=False, queries=["Say hello"])


def words(agent: Agent) -> str:
    return f"{agent.agent_id} is switched off."


def check_refused(answer: httpx2.Response, agent: Agent) -> None:
    error = error_of(answer)
    assert (answer.status_code, error["code"], error["retryable"]) == (409, "agent_switched_off", False)
    assert (error["message"], error["details"]["agent"]) == (words(agent), agent.agent_id)
    assert not Run.objects.filter(agent=agent).exists()


def test_everybody_who_sees_it_hears_that_it_is_switched_off(owner: Person, off: Agent, asker: Person) -> None:
    for somebody in (owner, asker):
        check_refused(somebody.ask(off.agent_id, "hello"), off)
        session = somebody.new_session(None)
        refused = somebody.http.post(f"/api/sessions/{session}/messages", json={"text": f"@{off.agent_id} hello"})
        check_refused(refused, off)
        assert somebody.messages(session) == []
    session = owner.new_session(None)
    check_refused(owner.http.post(f"/api/sessions/{session}/messages", json={"text": f"@{off.handle} hello"}), off)
    check_refused(owner.ask(off.handle, "hello"), off)


def test_of_a_private_one_strangers_hear_what_they_hear_of_none(owner: Person, off: Agent, asker: Person) -> None:
    Agent.objects.filter(pk=off.pk).update(published=False)
    refused = asker.ask(off.agent_id, "hello")
    assert (refused.status_code, error_of(refused)["code"]) == (404, "not_found")
    assert error_of(refused)["message"] == f"There is no agent {off.agent_id} that you can ask."
    check_refused(owner.ask(off.agent_id, "hello"), off)


def test_what_waits_for_it_is_not_asked_any_more(
    asker: Person, agent_of: Callable[[Person, Behaviour], str], scripted: ScriptedAgent
) -> None:
    gate = threading.Event()
    busy, off = agent_of(asker, held(gate)), agent_of(asker, says("done"))
    session = asker.new_session(busy)
    asker.post(session, "first")
    run = asker.post(session, f"@{off} second")["run"]
    Agent.objects.filter(handle=off.partition("/")[2]).update(enabled=False)
    gate.set()
    last = asker.settled(session)[-1]
    assert (last["kind"], last["text"]) == ("error", f"{off} is switched off.")
    assert Run.objects.values_list("status", "error_code").get(pk=run) == ("failed", "agent_switched_off")
    asked = [request.path for request in scripted.requests if request.method == "POST"]
    assert f"/{off.partition('/')[2]}" not in asked


def test_what_it_had_begun_when_its_process_died_is_not_begun_again(
    asker: Person, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    off = agent_of(asker, says("done"))
    agent = Agent.objects.get(handle=off.partition("/")[2])
    Agent.objects.filter(pk=agent.pk).update(enabled=False)
    run = run_at_work(asker.user, agent)
    Run.objects.filter(pk=run.pk).update(heartbeat=timezone.now() - timedelta(hours=1))
    handle = run.session.handle
    wait_until(lambda: not asker.session(handle)["runs"], 60)
    assert [message["text"] for message in asker.messages(handle)] == ["at work", f"{off} is switched off."]


def test_in_its_own_sessions_it_is_named_and_others_answer(owner: Person, asker: Person) -> None:
    agent = make_agent(owner.user.owner)
    session = asker.new_session(agent.agent_id)
    Agent.objects.filter(pk=agent.pk).update(enabled=False)
    check_refused(asker.http.post(f"/api/sessions/{session}/messages", json={"text": "hello"}), agent)
    asker.post(session, "@fixie/echo hello")
    assert asker.settled(session)[-1]["text"] == "hello"


def test_an_agent_that_asks_it_hears_the_same(
    site: Site, asker: Person, off: Agent, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    asking = agent_of(asker, asks(site, off.agent_id))
    assert asker.ask(asking, "hello").json()["message"]["text"] == f"{off.agent_id}: {words(off)}"
    Agent.objects.filter(pk=off.pk).update(published=False)
    said = asker.ask(asking, "hello").json()["message"]["text"]
    assert said == f"{off.agent_id}: There is no agent {off.agent_id} that can be asked here."


def test_owners_and_members_switch_it_and_nobody_else(
    owner: Person, person: MakePerson, asker: Person, site: Site
) -> None:
    organization = save_organization(organization=Organization(name="Org"), handle=f"org-{owner.user.username}")
    teammate = person()
    organization.members.add(owner.user, through_defaults={"role": "admin"})
    organization.members.add(teammate.user)
    agent = make_agent(organization.owner)
    path = f"/api/agents/{agent.agent_id}"
    with site.client() as nobody:
        for http, status in ((asker.http, 404), (nobody, 401)):
            assert http.patch(path, json={"enabled": False}).status_code == status
            assert enabled(agent)
    changed = teammate.http.patch(path, json={"enabled": False})
    assert (changed.status_code, changed.json()["enabled"], enabled(agent)) == (200, False, False)
    assert asker.http.get(path).json()["enabled"] is False
    mutation = 'mutation { updateAgent(agentData: {handle: "%s", enabled: %s}) { agent { enabled } } }'
    refused = asker.http.post("/graphql", json={"query": mutation % (agent.agent_id, "true")}).json()
    assert refused["errors"][0]["extensions"]["code"] == "not_found"
    assert not enabled(agent)
    done = owner.http.post("/graphql", json={"query": mutation % (agent.agent_id, "true")}).json()
    assert done["data"]["updateAgent"]["agent"] == {"enabled": True}
    assert asker.ask(agent.agent_id, "hello").status_code == 200
    refused = owner.http.patch(path, json={"enabled": "perhaps"})
    assert (refused.status_code, error_of(refused)["details"]["field"]) == (400, "enabled")


def enabled(agent: Agent) -> bool:
    return Agent.objects.get(pk=agent.pk).enabled


def test_its_page_says_so_and_has_a_button_for_its_owner(make_user: Callable[..., User]) -> None:
    user, other = make_user(), make_user()
    agent = make_agent(user.owner, queries=["Say hello"])
    path = f"/agents/{agent.agent_id}"
    browser, stranger = signed_in(user), signed_in(other)
    assert "Switch it off" in browser.get(path).content.decode()
    assert stranger.post(f"{path}/switch", {}).status_code == 404
    assert enabled(agent)
    page = browser.post(f"{path}/switch", {}, follow=True).content.decode()
    assert not enabled(agent)
    for told in (words(agent), "Nobody can ask it until you switch it on again.", "Switch it on"):
        assert told in page
    assert 'class="starter"' not in page
    seen = stranger.get(path).content.decode()
    assert "Nobody can ask it until its owner switches it on again." in seen
    assert "Switch it on" not in seen
    browser.post(f"{path}/switch", {"enabled": "on"})
    assert enabled(agent)


def test_the_first_page_offers_none_of_its_questions(make_user: Callable[..., User]) -> None:
    user = make_user()
    agent = make_agent(user.owner, queries=["Say hello"])
    assert "Say hello" in [starter.text for starter in starters_for(user)]
    Agent.objects.filter(pk=agent.pk).update(enabled=False)
    assert agent.pk not in [starter.agent.pk for starter in starters_for(user)]


def test_nobody_looks_whether_it_answers(make_user: Callable[..., User]) -> None:
    due = [make_agent(make_user().owner, enabled=is_on) for is_on in (True, False)]
    new = make_agent(make_user().owner, enabled=False)
    Revision.objects.filter(agent__in=[*due, new]).update(deployment="external", target="http://127.0.0.1:9/")
    for agent in due:
        Liveness.objects.create(agent=agent, next_check=timezone.now())
    checks.take_up()
    claimed: set[int] = set()
    while more := checks.claim(50):
        claimed |= set(more)
    assert {agent.pk for agent in due} & claimed == {due[0].pk}
    assert not Liveness.objects.filter(pk=new.pk).exists()


def test_administrators_switch_many_at_a_time(make_user: Callable[..., User]) -> None:
    browser = browser_of(make_user(is_superuser=True, is_staff=True))
    agents = [make_agent(make_user().owner) for _ in range(2)]
    chosen: dict[str, Any] = {"_selected_action": [agent.pk for agent in agents]}
    for action, is_on in (("switch_off", False), ("switch_on", True)):
        assert browser.post("/admin/registry/agent/", {**chosen, "action": action}).status_code == 302
        assert [enabled(agent) for agent in agents] == [is_on, is_on]
