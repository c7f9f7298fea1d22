"""Registering an agent by the form, without any script; and deploying it elsewhere from its page."""

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from tests.agents import ScriptedAgent, answer
from tests.registry.readings import GOOD, serve_manifest
from tests.sessions_app.test_views import signed_in

if TYPE_CHECKING:
    from accounts.models import User
    from registry.models import Agent

MakeUser = Callable[..., "User"]


@pytest.fixture
def user(make_user: MakeUser) -> "User":
    return make_user()


@pytest.fixture
def server() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as server:
        serve_manifest(server, answer(GOOD))
        server.on("/bad", answer({"few_shots": ["Roll"]}), method="GET")
        server.on("/new", answer({**GOOD, "base_prompt": "I am new."}), method="GET")
        yield server


def filled(user: "User", url: str, **more: str) -> dict[str, str]:
    handle = f"dice-{uuid.uuid4().hex[:8]}"
    return {"deployment_url": url, "owner": user.username, "handle": handle, "name": "Dice", "description": "", **more}


def agent_named(user: "User", handle: str) -> "Agent | None":
    from registry.models import Agent

    agents = Agent.objects.select_related("owner", "current_revision")
    return agents.filter(owner__handle=user.username, handle=handle).first()


def test_an_agent_is_registered_deployed_and_ready_to_be_asked(user: "User", server: ScriptedAgent) -> None:
    given = filled(user, server.url, published="on")

    page = signed_in(user).post("/agents/new", given, follow=True)

    assert page.redirect_chain == [(f"/agents/{user.username}/{given['handle']}", 302)]
    assert "is registered." in page.content.decode()
    assert "Ask it" in page.content.decode()
    agent = agent_named(user, given["handle"])
    assert agent is not None
    assert (agent.name, agent.published) == ("Dice", True)
    assert agent.current_revision is not None
    assert (agent.current_revision.state, agent.current_revision.target) == ("ready", server.url)


def test_one_of_an_organization_is_its(user: "User", make_user: MakeUser, server: ScriptedAgent) -> None:
    from accounts.models import Organization
    from accounts.organizations import save_organization

    team = save_organization(organization=Organization(name="Team"), handle=f"org-{uuid.uuid4().hex[:8]}")
    team.members.add(user)
    browser = signed_in(user)
    assert f'<option value="{team.owner.handle}">' in browser.get("/agents/new").content.decode()

    begun = browser.post("/agents/new", filled(user, server.url, owner=team.owner.handle))
    assert begun["Location"].startswith(f"/agents/{team.owner.handle}/")
    outsider = make_user()
    refused = signed_in(outsider).post("/agents/new", filled(outsider, server.url, owner=team.owner.handle))
    assert refused.status_code == 400
    assert team.owner.agents.count() == 1


def test_a_manifest_that_cannot_be_used_is_told_at_the_address_and_registered_when_that_is_meant(
    user: "User", server: ScriptedAgent
) -> None:
    browser, given = signed_in(user), filled(user, f"{server.url}/bad")

    refused = browser.post("/agents/new", given)

    assert refused.status_code == 400
    page = refused.content.decode()
    assert "Few-shot 1, line 1 (`Roll`): A few-shot starts with `Q:`." in page
    assert "Register it all the same" in page
    assert agent_named(user, given["handle"]) is None
    browser.post("/agents/new", {**given, "anyway": "on"})
    agent = agent_named(user, given["handle"])
    assert agent is not None
    assert agent.current_revision is not None
    assert agent.current_revision.state == "error"


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("deployment_url", "http://127.0.0.1:65001/", "The agent&#x27;s machine refused the connection."),
        ("deployment_url", "ftp://example.com/", "http"),
        ("deployment_url", "", "This field is required."),
        ("handle", "no handle", "A handle is 1 to 50 letters"),
        ("handle", "", "This field is required."),
        ("owner", "somebody", "Select a valid choice."),
    ],
)
def test_what_is_wrong_is_told_at_its_field_and_nothing_is_lost(
    user: "User", server: ScriptedAgent, field: str, value: str, words: str
) -> None:
    given = {**filled(user, server.url), "description": "Mine <to> keep", field: value}

    refused = signed_in(user).post("/agents/new", given)

    assert refused.status_code == 400
    assert field in refused.context["form"].errors
    assert words in refused.content.decode()
    assert "Mine &lt;to&gt; keep" in refused.content.decode()
    assert not user.owner.agents.exists()


def test_a_handle_that_is_taken_is_told(user: "User", server: ScriptedAgent) -> None:
    browser, given = signed_in(user), filled(user, server.url)
    browser.post("/agents/new", given)

    again = browser.post("/agents/new", given)

    assert f"There is already an agent with the handle {given['handle']}." in again.content.decode()
    assert user.owner.agents.count() == 1


def test_who_is_signed_out_signs_in_first(user: "User", server: ScriptedAgent) -> None:
    assert Client().get("/agents/new")["Location"] == "/accounts/login/?next=/agents/new"
    Client().post("/agents/new", filled(user, server.url))
    assert server.requests == []


def test_the_address_is_changed_and_a_bad_one_changes_nothing(user: "User", server: ScriptedAgent) -> None:
    browser, given = signed_in(user), filled(user, server.url)
    browser.post("/agents/new", given)
    path = f"/agents/{user.username}/{given['handle']}"

    refused = browser.post(f"{path}/address", {"deployment_url": f"{server.url}/bad"})
    assert refused.status_code == 400
    assert "A few-shot starts with `Q:`." in refused.content.decode()
    assert agent_named(user, given["handle"]).revisions.count() == 1  # type: ignore[union-attr]

    moved = browser.post(f"{path}/address", {"deployment_url": f"{server.url}/new"}, follow=True)
    assert "It answers at its new address from now on." in moved.content.decode()
    revision = agent_named(user, given["handle"]).current_revision  # type: ignore[union-attr]
    assert revision is not None
    assert revision.manifest["base_prompt"] == "I am new."


def test_its_manifest_is_read_again(user: "User", server: ScriptedAgent) -> None:
    browser, given = signed_in(user), filled(user, server.url)
    browser.post("/agents/new", given)
    path = f"/agents/{user.username}/{given['handle']}/read"
    assert "Nothing has changed" in browser.post(path, follow=True).content.decode()

    serve_manifest(server, answer({**GOOD, "base_prompt": "Changed."}))
    assert "It has changed: revision" in browser.post(path, follow=True).content.decode()
    serve_manifest(server, answer({"few_shots": ["Roll"]}))
    assert "A few-shot starts with `Q:`." in browser.post(path, follow=True).content.decode()
    revision = agent_named(user, given["handle"]).current_revision  # type: ignore[union-attr]
    assert revision is not None
    assert revision.manifest["base_prompt"] == "Changed."
