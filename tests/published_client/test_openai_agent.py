"""Agents that reach language models through the site, with the `openai` package of their time."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.llm_server import ScriptedModel, failure
from tests.published_client.package import Package
from tests.published_client.serving import program, served
from tests.published_client.somebody import Somebody
from tests.sites import Site, running_site


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel("Good morning") as model:
        yield model


@pytest.fixture(scope="module")
def site_with_model(database: None, model: ScriptedModel) -> Iterator[Site]:
    settings = {"LLM_BASE_URL": model.url, "LLM_API_KEY": "the-sites-own", "LLM_MODEL": "scripted"}
    with running_site(RUN_LEASE_SECONDS="15", **settings) as site:
        yield site


@pytest.fixture(scope="module")
def url(package: Package, site_with_model: Site, tmp_path_factory: Any) -> Iterator[str]:
    folder = program("with_a_model", tmp_path_factory.mktemp("agents"), "main:answer")
    with served(folder, package, FIXIE_API_URL=site_with_model.url) as url:
        yield url


@pytest.fixture
def ask(ann: Somebody, handle: str, url: str, site_with_model: Site, model: ScriptedModel) -> Iterator[Any]:
    """`ask(TEXT)` → what the agent answers ann."""
    model.reset("Good morning")
    with site_with_model.client(ann.key) as http:
        registered = http.post("/api/agents", json={"handle": handle, "deployment_url": url}).json()
        assert registered["revision"]["error"] == ""

        def ask(text: str) -> str:
            answer = http.post(f"/api/agents/{ann.name}/{handle}", json={"message": {"text": text}})
            assert answer.status_code == 200, answer.text
            return str(answer.json()["message"]["text"])

        yield ask


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Chat Hello", "Good morning"),
        ("Stream Hello", "Good morning"),
        ("Complete Hello", "Good morning"),
        ("Embed Hello", "2 numbers"),
    ],
)
def test_it_talks_to_the_sites_model(ask: Any, model: ScriptedModel, query: str, answer: str) -> None:
    assert ask(query) == answer
    # Neither side learns the other's key.
    assert set(model.keys) == {"Bearer the-sites-own"}


def test_it_lists_the_models(ask: Any) -> None:
    assert "scripted" in ask("Models please").split()


def test_what_it_uses_is_counted_for_the_user(ask: Any, ann: Somebody) -> None:
    from accounts.models import UsageDay

    ask("Chat Hello")
    used = UsageDay.objects.get(user=ann.user, agent=None)
    assert (used.prompt_tokens, used.completion_tokens) == (7, 3)


def test_a_model_that_fails_is_an_error_that_the_agent_can_read(ask: Any, model: ScriptedModel) -> None:
    model.script(failure(400, message="No such thing."))
    assert re.search(r"^InvalidRequestError: .*No such thing\.", ask("Chat Hello"))


def test_a_spent_quota_is_an_error_that_the_agent_can_read(ask: Any, ann: Somebody) -> None:
    ann.user.daily_token_limit = 5
    ann.user.save()
    assert ask("Twice Hello").startswith("RateLimitError: ")
