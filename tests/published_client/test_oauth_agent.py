"""Agents that sign their users in elsewhere: `oauth_params`, `oauth_handler`, and the site's `/oauth`."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.agents import ScriptedAgent, answer
from tests.published_client.package import Package
from tests.published_client.serving import program, served
from tests.published_client.somebody import Somebody

QUESTION = "What is my token?"


@pytest.fixture(scope="module")
def service() -> Iterator[ScriptedAgent]:
    """Another service, that gives a token for a code."""

    def token(request: Any) -> Any:
        (code,) = parse_qs(request.body.decode())["code"]
        return {"access_token": f"token-of-{code}", "scope": "read", "token_type": "Bearer", "expires_in": 3600}

    with ScriptedAgent() as server:
        server.on("/token", answer(token))
        yield server


@pytest.fixture(scope="module")
def url(package: Package, service: ScriptedAgent, tmp_path_factory: Any) -> Iterator[str]:
    folder = program("signing_in", tmp_path_factory.mktemp("agents"), "main:agent")
    with served(folder, package, SERVICE=service.url) as url:
        yield url


@pytest.fixture
def agent(ann: Somebody, handle: str, url: str) -> str:
    return ann.new_agent(handle, url, published=True)


def sign_in_link(person: Somebody, agent: str) -> dict[str, str]:
    """The address that the agent sends somebody to: its host, and what it carries."""
    said = person.client.create_session(agent).query(QUESTION)
    assert said.startswith("Sign in at ")
    parts = urlsplit(said.removeprefix("Sign in at "))
    return {"netloc": parts.netloc, **{name: value for name, (value,) in parse_qs(parts.query).items()}}


def test_who_signs_in_there_has_a_token_from_then_on(ann: Somebody, agent: str, service: ScriptedAgent) -> None:
    link = sign_in_link(ann, agent)
    assert link["netloc"] == urlsplit(service.url).netloc
    assert link["redirect_uri"] == f"{ann.site.url}/oauth"
    assert (link["client_id"], link["scope"]) == ("our-id", "read write")
    with ann.signed_in() as browser:
        page = browser.get("/oauth", params={"state": link["state"], "code": "x1"})
    assert page.status_code == 200
    assert "Authorization successful!" in page.text
    assert ann.client.create_session(agent).query(QUESTION) == "It is token-of-x1."


def test_a_link_that_was_made_for_somebody_else_changes_nothing(ann: Somebody, bob: Somebody, agent: str) -> None:
    link = sign_in_link(ann, agent)
    with bob.signed_in() as browser:
        page = browser.get("/oauth", params={"state": link["state"], "code": "evil"})
    assert page.status_code >= 400
    assert "Authorization successful!" not in page.text
    for person in (ann, bob):
        assert person.client.create_session(agent).query(QUESTION).startswith("Sign in at ")


def test_who_refuses_there_is_told_that_nothing_has_changed(ann: Somebody, agent: str) -> None:
    link = sign_in_link(ann, agent)
    with ann.signed_in() as browser:
        page = browser.get("/oauth", params={"state": link["state"], "error": "access_denied"})
    assert "You did not allow it there, so nothing has changed." in page.text
