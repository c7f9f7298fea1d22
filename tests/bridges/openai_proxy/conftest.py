"""A site with a scripted language model server, and those who use it through the proxy."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.llm_server import ScriptedModel
from tests.sites import Site, running_site

if TYPE_CHECKING:
    from accounts.models import User
    from registry.models import Agent

SERVER_KEY = "sk-the-key-of-the-site"
PROXY = "/api/openai-proxy/v1"
TIMEOUT = 2.0


@dataclass(frozen=True)
class Asker:
    """A user, an agent that works for them, and the token of a call to it; `http` sends the token."""

    user: "User"
    agent: "Agent"
    token: str
    base_url: str
    http: httpx2.Client

    def post(self, path: str = "chat/completions", **body: Any) -> httpx2.Response:
        return self.http.post(f"{PROXY}/{path}", json={"model": "scripted", **body})

    def chat(self, text: str = "What time is it?", **body: Any) -> httpx2.Response:
        return self.post(messages=[{"role": "user", "content": text}], **body)


@pytest.fixture(scope="session")
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


@pytest.fixture(scope="session")
def proxy(database: None, server: ScriptedModel) -> Iterator[Site]:
    """The site whose model the server is."""
    llm = {"LLM_BASE_URL": server.url, "LLM_API_KEY": SERVER_KEY, "LLM_TIMEOUT": str(TIMEOUT)}
    with running_site(RUN_LEASE_SECONDS="15", **llm) as site:
        yield site


@pytest.fixture
def model(server: ScriptedModel) -> ScriptedModel:
    """The server as new; it says that it is noon."""
    server.reset("It is noon.")
    return server


@pytest.fixture
def new_agent() -> Callable[..., "Agent"]:
    """`new_agent(user, **fields)` → an agent of theirs."""
    from registry.models import Agent

    def make(user: "User", **fields: Any) -> Agent:
        return Agent.objects.create(owner=user.owner, handle=f"agent-{uuid.uuid4().hex[:8]}", **fields)

    return make


@pytest.fixture
def call_token(proxy: Site, settings: Any) -> Callable[..., str]:
    """`call_token(user, agent, lifetime=60.0, run=None)` → the token of a call, as the site signs it.

    It belongs to a new query of the user's that is at work, unless it is for another `run`.
    """
    from accounts.tokens import CallClaims, sign_call_token
    from tests.sessions_app.rows import run_at_work

    def sign(user: "User", agent: "Agent", lifetime: float = 60.0, run: str | None = None) -> str:
        settings.SITE_URL = proxy.url
        session = "a-b-c"
        if run is None:
            made = run_at_work(user, agent)
            run, session = str(made.pk), made.session.handle
        return sign_call_token(CallClaims(user.pk, agent.agent_id, session, run, ()), lifetime=lifetime)

    return sign


@pytest.fixture
def asker(proxy: Site, make_user: Any, new_agent: Any, call_token: Any) -> Iterator[Callable[..., Asker]]:
    """`asker(user_fields, agent_fields)` → somebody new, for whom somebody else's agent works."""
    clients: list[httpx2.Client] = []

    def make(user: dict[str, Any] | None = None, agent: dict[str, Any] | None = None) -> Asker:
        asking, working = make_user(**(user or {})), new_agent(make_user(), **(agent or {}))
        token = call_token(asking, working)
        clients.append(proxy.client(token))
        return Asker(asking, working, token, f"{proxy.url}{PROXY}", clients[-1])

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def ann(asker: Callable[..., Asker]) -> Asker:
    return asker()


def used(user: "User", agent: "Agent | None" = None) -> tuple[int, int]:
    """Today's tokens of a user, in all or of one agent: read and written by models."""
    from accounts.models import UsageDay

    rows = UsageDay.objects.filter(user=user, agent=agent and agent.pk)
    return rows.values_list("prompt_tokens", "completion_tokens").first() or (0, 0)


def error_of(answer: httpx2.Response) -> dict[str, Any]:
    """The error of an answer; fails unless it has OpenAI's form."""
    document = answer.json()
    assert set(document) == {"error"}, document
    error: dict[str, Any] = document["error"]
    assert set(error) == {"message", "type", "param", "code"}, error
    assert error["message"]
    return error
