"""Who may do what, and what is refused at the door."""

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.bridges.mcp.connecting import Hand, call
from tests.sessions_app.people import Person
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import Organization
    from registry.models import Agent

PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


@pytest.fixture
def organization() -> "Organization":
    from accounts.models import Organization
    from accounts.organizations import save_organization

    return save_organization(organization=Organization(name="Team"), handle=f"team-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def team(person: Callable[..., Person], organization: "Organization") -> dict[str, Person]:
    """An owner and a teammate of one organization, and somebody else."""
    people = {name: person() for name in ("owner", "teammate", "outsider")}
    for name in ("owner", "teammate"):
        organization.members.add(people[name].user, through_defaults={"role": "admin"})
    return people


@pytest.fixture
def private(organization: "Organization", echo: str) -> "Agent":
    """An agent of the organization that is not published."""
    from tests.sessions_app.queries import make_agent

    return make_agent(organization.owner, published=False)


def queries_of(agent: "Agent") -> int:
    from sessions_app.models import Run

    return Run.objects.filter(agent=agent).count()


def sent(site: Site, key: str | None, document: Any = PING, **headers: str) -> httpx2.Response:
    with site.client(key) as http:
        return http.post("/mcp", json=document, headers=headers)


@pytest.mark.parametrize("name", ["owner", "teammate"])
def test_members_ask_and_find_an_agent_of_their_organization(
    name: str, team: dict[str, Person], private: "Agent", connect: Callable[..., Hand]
) -> None:
    hand = connect(team[name])
    assert hand.delegated("Hello?", agent_id=private.agent_id)["result"] == "Hello?"
    assert [each["agent_id"] for each in hand.agents(query=private.handle)] == [private.agent_id]
    # Only published agents are tools of their own.
    assert f"{private.owner.handle}__{private.handle}" not in [tool.name for tool in hand.tools()]


def test_an_outsider_neither_asks_nor_finds_it(
    team: dict[str, Person], private: "Agent", connect: Callable[..., Hand]
) -> None:
    hand = connect(team["outsider"])
    named = hand.error("delegate_task", task_type="", prompt="Hello?", agent_id=private.agent_id)
    as_tool = hand.error(f"{private.owner.handle}__{private.handle}", prompt="Hello?")
    missing = hand.error("delegate_task", task_type="", prompt="Hello?", agent_id="no/body")
    assert named.code == as_tool.code == missing.code == -32001
    assert named.message == missing.message.replace("no/body", private.agent_id)
    assert hand.agents(query=private.handle) == []
    assert queries_of(private) == 0
    assert team["outsider"].http.get("/api/sessions").json()["items"] == []


def test_a_task_and_a_session_are_their_owners(team: dict[str, Person], connect: Callable[..., Hand]) -> None:
    task = connect(team["owner"]).delegated("Hello?", agent_id="fixie/echo")
    others = connect(team["teammate"])
    assert others.error("agent_status", task_id=task["task_id"]).code == -32602
    error = others.error("delegate_task", task_type="", prompt="x", agent_id="fixie/echo", session=task["session"])
    assert (error.code, error.data["details"]["field"]) == (-32602, "session")
    assert len(team["owner"].messages(task["session"])) == 2


def test_nobody_gets_in_without_a_key(site: Site) -> None:
    answer = sent(site, None, call("list_agents"))
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert answer.json()["error"]["data"]["code"] == "unauthenticated"


def test_a_cookie_is_no_key(site: Site, make_user: Any, client: Any) -> None:
    client.force_login(make_user())
    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    assert sent(site, None, Cookie=cookies).status_code == 401


def test_a_bad_key_is_refused(site: Site) -> None:
    assert sent(site, "nonsense").status_code == 401


def test_a_revoked_key_is_refused_at_once(site: Site, asker: Person) -> None:
    from accounts.actions import revoke_api_key
    from accounts.models import ApiKey

    assert sent(site, asker.key).json() == {"jsonrpc": "2.0", "id": 7, "result": {}}
    revoke_api_key(key=ApiKey.objects.get(user=asker.user), by=asker.user)
    assert sent(site, asker.key).status_code == 401


def test_an_inactive_user_is_refused(site: Site, asker: Person) -> None:
    asker.user.is_active = False
    asker.user.save()
    assert sent(site, asker.key).status_code == 401


def test_the_token_of_a_call_is_no_key(site: Site, asker: Person, settings: Any) -> None:
    from accounts.tokens import CallClaims, sign_call_token

    settings.SITE_URL = site.url
    token = sign_call_token(CallClaims(asker.user.pk, "fixie/echo", "a-b-c", str(uuid.uuid4()), ()), lifetime=60)
    assert sent(site, token).status_code == 401


def test_another_address_of_the_site_is_refused(site: Site, asker: Person) -> None:
    assert sent(site, asker.key, Host="evil.example").status_code == 400
    assert sent(site, asker.key, Host=f"localhost:{site.port}").status_code == 200


def test_another_sites_page_is_refused(site: Site, asker: Person) -> None:
    assert sent(site, asker.key, Origin="https://evil.example").status_code == 400
    assert sent(site, asker.key, Origin=site.url).status_code == 200


def test_only_posts_are_answered(site: Site, asker: Person) -> None:
    answer = asker.http.get("/mcp", headers={"Accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_a_body_that_is_too_large_is_refused(site: Site, asker: Person) -> None:
    assert sent(site, asker.key, {**PING, "padding": "x" * 2**21}).status_code == 413


def test_an_answer_carries_the_requests_id(site: Site, asker: Person) -> None:
    assert sent(site, asker.key, **{"X-Request-ID": "mine"}).headers["X-Request-ID"] == "mine"
    assert len(sent(site, None).headers["X-Request-ID"]) == 32
