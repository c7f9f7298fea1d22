"""`/oauth`: an agent gets what another service sends its user back with, in that user's name, and nobody else's."""

import html
import json
import re
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest
from django.test import Client

from tests.agents import Behaviour, ScriptedAgent, answer, hang, raw
from tests.sessions_app.people import wait_until
from tests.sites import Site, running_site

if TYPE_CHECKING:
    from accounts.models import User
    from tests.registry.conftest import People

CSRF_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
WELCOME = answer({"message": {"text": "Authorization successful!"}})


@pytest.fixture
def agent_of(scripted: ScriptedAgent) -> Callable[..., str]:
    """`agent_of(user, behaviour, **fields)` → the id of a new agent whose Func `_oauth` behaves so."""

    def register(
        by: "User", behaviour: Behaviour | None = None, *, where: str = "", kind: str = "code_shot", **fields: object
    ) -> str:
        from registry.actions import create_agent
        from tests.registry.readings import reads

        handle = f"calendar-{uuid.uuid4().hex[:8]}"
        if behaviour is not None:
            scripted.on(f"/{handle}/_oauth", behaviour)
        reading = reads(where or f"{scripted.url}/{handle}", transport=kind)
        return create_agent(by=by, handle=handle, reading=reading, **fields).agent_id

    return register


def come_back(site: Site, user: "User | None", **query: str) -> httpx2.Response:
    """Where a user stands who is sent back with these parameters."""
    cookies = {}
    if user is not None:
        browser = Client()
        browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        cookies["sessionid"] = browser.cookies["sessionid"].value
    with site.client(cookies=cookies) as http:
        return http.get("/oauth", params=query)


def text_of(page: httpx2.Response) -> str:
    return html.unescape(page.text)


def calls_to(scripted: ScriptedAgent, agent_id: str) -> list[object]:
    handle = agent_id.partition("/")[2]
    return [request for request in scripted.requests if request.path.startswith(f"/{handle}")]


def test_an_agent_that_is_switched_off_is_handed_nothing(
    site: Site, scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str]
) -> None:
    agent = agent_of(people.owner, WELCOME, published=True, enabled=False)
    page = come_back(site, people.owner, state=f"{agent}:random", code="4/code")
    assert f"{agent} is switched off." in text_of(page)
    assert calls_to(scripted, agent) == []


@pytest.mark.parametrize("kind", ["code_shot", "query_http"])
def test_the_agent_gets_state_and_code_with_a_token_for_that_user(
    site: Site, scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str], kind: str
) -> None:
    agent = agent_of(people.owner, WELCOME, published=True, kind=kind)

    page = come_back(site, people.outsider, state=f"{agent}:random:x", code="4/secret&code", scope="calendar")

    assert page.status_code == 200
    assert "Authorization successful!" in text_of(page)
    assert agent in text_of(page)
    assert "no-store" in page.headers["cache-control"]
    (request,) = calls_to(scripted, agent)
    assert json.loads(request.json["message"]["text"]) == {"state": f"{agent}:random:x", "code": "4/secret&code"}
    token = request.headers["authorization"].removeprefix("Bearer ")
    assert request.json["access_token"] == token
    claims = jwt.decode(token, options={"verify_signature": False})
    assert (claims["sub"], claims["aid"]) == (str(people.outsider.pk), agent)


def test_it_counts_toward_no_quota(site: Site, people: "People", agent_of: Callable[..., str]) -> None:
    come_back(site, people.owner, state=f"{agent_of(people.owner, WELCOME)}:x", code="c")

    assert not people.owner.usage.exists()


def test_who_is_signed_out_signs_in_first_and_comes_back(
    site: Site, scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str]
) -> None:
    agent = agent_of(people.owner, WELCOME, published=True)

    asked = come_back(site, None, state=f"{agent}:x", code="a b")

    assert asked.status_code == 302
    place = urlsplit(asked.headers["location"])
    assert place.path == "/accounts/login/"
    (back,) = parse_qs(place.query)["next"]
    assert parse_qs(urlsplit(back).query) == {"state": [f"{agent}:x"], "code": ["a b"]}
    assert not calls_to(scripted, agent)


def test_an_agents_words_are_text(site: Site, people: "People", agent_of: Callable[..., str]) -> None:
    agent = agent_of(people.owner, answer({"message": {"text": "<script>alert(1)</script>" + "x" * 100_000}}))

    page = come_back(site, people.owner, state=f"{agent}:x", code="c")

    assert "&lt;script&gt;alert(1)" in page.text
    assert "<script>alert" not in page.text
    assert len(page.text) < 10_000


@pytest.mark.parametrize(
    "state", ["", "x", "fixie/dice", "fixie/dice:", ":x", "/:x", "a/b/c:x", "a b/c:x", "\x00/\x00:x"]
)
def test_a_state_that_names_no_agent_is_explained(site: Site, people: "People", state: str) -> None:
    page = come_back(site, people.owner, state=state, code="c")

    assert page.status_code == 400
    assert "This sign-in cannot be finished" in page.text


def test_a_private_agent_is_as_unknown_as_one_that_does_not_exist(
    site: Site, scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str]
) -> None:
    agent = agent_of(people.owner, WELCOME, owner=people.organization.owner.handle)
    pages = [come_back(site, people.outsider, state=f"{name}:x", code="c") for name in (agent, "nobody/nothing")]

    assert [page.status_code for page in pages] == [404, 404]
    assert len({CSRF_TOKEN.sub("", page.text) for page in pages}) == 1
    assert not calls_to(scripted, agent)
    assert come_back(site, people.teammate, state=f"{agent}:x", code="c").status_code == 200


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("access_denied", "You did not allow it there"),
        ("server_error", "The other service refused: server_error."),
        ("<b>Call 0900-123</b>", "The other service refused: unknown."),
    ],
)
def test_what_the_service_refused_is_not_handed_on(
    site: Site, scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str], error: str, words: str
) -> None:
    agent = agent_of(people.owner, WELCOME)

    page = come_back(site, people.owner, state=f"{agent}:x", error=error, error_description="Call 0900-123", code="c")

    assert page.status_code == 400
    assert f"{agent} was not let in" in text_of(page)
    assert words in text_of(page)
    assert "0900" not in page.text
    assert not calls_to(scripted, agent)


def test_without_a_code_nothing_is_called(
    site: Site, scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str]
) -> None:
    agent = agent_of(people.owner, WELCOME)

    assert come_back(site, people.owner, state=f"{agent}:x").status_code == 400
    assert not calls_to(scripted, agent)


@pytest.mark.parametrize(
    ("behaviour", "status", "words"),
    [
        # What the SDK answers where the state is not the one it stored for this user.
        (answer(body=b"Internal Server Error", status=500, content_type="text/plain"), 502, "HTTP status 500"),
        (
            answer({"message": {"text": "That link is old."}, "error": {"code": "x"}}, status=400),
            502,
            "That link is old.",
        ),
        (answer({"detail": "Not Found"}, status=404), 502, "does not sign in anywhere"),
        (answer(body=b"not json"), 502, "not JSON"),
        (raw(), 502, "could not finish the sign-in"),
    ],
)
def test_an_agent_that_fails_is_explained(
    site: Site, people: "People", agent_of: Callable[..., str], behaviour: Behaviour, status: int, words: str
) -> None:
    agent = agent_of(people.owner, behaviour)

    page = come_back(site, people.owner, state=f"{agent}:x", code="c")

    assert page.status_code == status
    assert words in text_of(page)
    assert agent in text_of(page)


def test_an_agent_that_is_away_is_explained(site: Site, people: "People", agent_of: Callable[..., str]) -> None:
    agent = agent_of(people.owner, where="http://127.0.0.1:1/")

    page = come_back(site, people.owner, state=f"{agent}:x", code="c")

    assert page.status_code == 502
    assert "could not finish the sign-in" in page.text


def test_an_agent_inside_the_site_signs_in_nowhere(site: Site, echo: str, people: "People") -> None:
    page = come_back(site, people.owner, state=f"{echo}:x", code="c")

    assert page.status_code == 502
    assert "does not sign in anywhere" in page.text


def test_an_agent_that_runs_nowhere_is_explained(site: Site, people: "People") -> None:
    from registry.actions import create_agent

    agent = create_agent(by=people.owner, handle="nowhere").agent_id

    assert come_back(site, people.owner, state=f"{agent}:x", code="c").status_code == 404


def test_a_private_address_is_not_called_where_it_is_forbidden(
    scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str]
) -> None:
    agent = agent_of(people.owner, WELCOME)

    with running_site(AGENT_URL_ALLOW_PRIVATE="false") as careful:
        page = come_back(careful, people.owner, state=f"{agent}:x", code="c")

    assert page.status_code == 502
    assert not calls_to(scripted, agent)


def test_a_slow_agent_holds_no_connection_to_the_database_and_is_given_up(
    scripted: ScriptedAgent, people: "People", agent_of: Callable[..., str]
) -> None:
    agent = agent_of(people.owner, hang())

    with running_site(AGENT_CALL_TIMEOUT="2", DATABASE_ORM_POOL_SIZE="3") as site, ThreadPoolExecutor() as pool:
        slow = [pool.submit(come_back, site, people.owner, state=f"{agent}:x", code=f"c{n}") for n in range(3)]
        wait_until(lambda: len(calls_to(scripted, agent)) == 3)
        meanwhile = come_back(site, people.owner, state="x", code="c")
        were_waiting = not any(one.done() for one in slow)
        pages = [one.result() for one in slow]

    assert (meanwhile.status_code, were_waiting) == (400, True)
    for page in pages:
        assert page.status_code == 504
        assert "could not finish the sign-in" in page.text
