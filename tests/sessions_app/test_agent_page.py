"""The page of an agent: who sees it, what it shows them, and the sessions it begins."""

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.registry.readings import fails, reads
from tests.sessions_app.test_views import signed_in

if TYPE_CHECKING:
    from accounts.models import Organization, User
    from registry.models import Agent

MakeUser = Callable[..., "User"]
SHOTS = ("Q: Roll a die\nA: 4", "Q: Roll 3d8\nA: 3 4 5")
URL = "http://127.0.0.1:9009/agent"


@pytest.fixture
def user(make_user: MakeUser) -> "User":
    return make_user()


@pytest.fixture
def organization(user: "User") -> "Organization":
    from accounts.models import Organization
    from accounts.organizations import save_organization

    organization = save_organization(organization=Organization(name="Ours"), handle=f"org-{uuid.uuid4().hex[:8]}")
    organization.members.add(user)
    return organization


def agent_of(user: "User", **fields: object) -> "Agent":
    from registry.actions import create_agent

    given = {"reading": reads(few_shots=SHOTS), "name": "Dice", "description": "Rolls dice.", **fields}
    return create_agent(by=user, handle=f"dice-{uuid.uuid4().hex[:8]}", **given)


def page_of(client: Client, agent: "Agent") -> str:
    answer = client.get(f"/agents/{agent.agent_id}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_says_what_the_agent_is(user: "User") -> None:
    page = page_of(signed_in(user), agent_of(user, more_info_url="https://example.com/dice?a=1&b=2"))

    assert "<title>Dice " in page
    assert "Rolls dice." in page
    assert 'href="https://example.com/dice?a=1&amp;b=2" rel="noopener noreferrer nofollow"' in page
    assert "not published" in page


def test_a_sample_question_begins_a_session_with_the_agent(user: "User") -> None:
    agent, browser = agent_of(user), signed_in(user)
    page = page_of(browser, agent)
    assert '<input type="hidden" name="text" value="Roll 3d8">' in page
    assert f'<input type="hidden" name="agent" value="{agent.agent_id}">' in page

    begun = browser.post("/sessions/new", {"agent": agent.agent_id, "text": ""})

    session = user.sessions.get()
    assert begun["Location"] == f"/sessions/{session.handle}"
    assert session.agent == agent
    assert f'href="/agents/{agent.agent_id}"' in browser.get(begun["Location"]).content.decode()


def test_where_it_runs_is_for_those_who_may_change_it(
    user: "User", make_user: MakeUser, organization: "Organization"
) -> None:
    agent = agent_of(user, owner=organization.owner.handle, published=True)
    teammate = make_user()
    organization.members.add(teammate)

    assert URL in page_of(signed_in(user), agent)
    assert URL in page_of(signed_in(teammate), agent)
    assert URL not in page_of(signed_in(make_user()), agent)


def test_a_broken_agent_says_why_to_those_who_may_change_it(user: "User", make_user: MakeUser) -> None:
    agent = agent_of(user, published=True, reading=fails(reason="The manifest is no JSON."))

    for client, sees in ((signed_in(user), True), (signed_in(make_user()), False)):
        page = page_of(client, agent)
        assert "cannot be asked at the moment" in page
        assert ("The manifest is no JSON." in page) is sees


def test_an_agent_that_runs_nowhere_says_how_to_deploy_it(user: "User") -> None:
    assert "Nowhere yet" in page_of(signed_in(user), agent_of(user, reading=None))


def test_its_texts_are_text(user: "User") -> None:
    evil = "<script>alert(1)</script>"

    page = page_of(
        signed_in(user), agent_of(user, name=evil, description=evil, reading=reads(few_shots=(f"Q: {evil}\nA: x",)))
    )

    assert evil not in page


def test_a_private_agent_is_not_there_for_others(user: "User", make_user: MakeUser) -> None:
    hidden, outsider = agent_of(user), signed_in(make_user())

    for path in (f"/agents/{hidden.agent_id}", "/agents/nobody/nothing", "/agents/a/%00", f"/agents/{'x' * 500}/y"):
        assert outsider.get(path).status_code == 404


def test_who_is_signed_out_signs_in_first(user: "User") -> None:
    for agent in (agent_of(user), agent_of(user, published=True)):
        answer = Client().get(f"/agents/{agent.agent_id}")
        assert answer["Location"] == f"/accounts/login/?next=/agents/{agent.agent_id}"


def test_it_takes_few_queries(user: "User") -> None:
    agent, browser = agent_of(user), signed_in(user)

    with CaptureQueriesContext(connection) as captured:
        page_of(browser, agent)

    assert len(captured) <= 4  # the session, its user, the agent, the owners they may act for
