"""Who may do what with a session: its owner alone, whoever else asks and however, and a refusal changes nothing."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, Membership, Organization, Owner, UsageDay, User
from sessions_app.models import Message, Run, Session
from tests.agents import Behaviour
from tests.sessions_app.people import Json, Person, error_of
from tests.sessions_app.streaming import held
from tests.sites import Site

CALLERS = ("teammate", "outsider", "anonymous", "revoked", "tampered", "inactive")
MISSING, NOBODY = 404, 401
STATUS = {"teammate": MISSING, "outsider": MISSING} | dict.fromkeys(CALLERS[2:], NOBODY)
NOWHERE = {"session": "no-such-session", "run": "01890000-0000-7000-8000-000000000000"}
CODE = {MISSING: "not_found", NOBODY: "unauthenticated"}

# Every endpoint of sessions and runs, and asking an agent within a session: method, path, body.
ENDPOINTS: list[tuple[str, str, Json | None]] = [
    ("GET", "/api/sessions/{session}", None),
    ("DELETE", "/api/sessions/{session}", None),
    ("GET", "/api/sessions/{session}/messages", None),
    ("POST", "/api/sessions/{session}/messages", {"text": "mine now"}),
    ("POST", "/api/sessions/{session}/messages", {"text": "mine now", "if_busy": "interrupt"}),
    ("POST", "/api/sessions/{session}/messages", {"text": "mine now", "client_id": "1"}),
    ("GET", "/api/sessions/{session}/events", None),
    ("POST", "/api/runs/{run}/cancel", None),
    ("POST", "/api/agents/fixie/echo", {"session": "{session}", "message": {"text": "mine now"}}),
    ("POST", "/api/agents/fixie/echo", {"session": "{session}", "message": {"text": "mine now"}, "stream": True}),
]
# These belong to nobody in particular; only who is nobody is refused.
OPEN: list[tuple[str, str, Json | None]] = [
    ("GET", "/api/sessions", None),
    ("POST", "/api/sessions", {}),
    ("POST", "/api/agents/fixie/echo", {"message": {"text": "hello"}}),
    ("POST", "/api/agents/fixie/echo", {"message": {"text": "hello"}, "stream": True}),
]


class Stage:
    """A session of somebody with a run at work, and everybody else's headers."""

    def __init__(self, site: Site, owner: Person, session: str, run: str, headers: dict[str, dict[str, str]]) -> None:
        self.owner, self.headers = owner, headers
        self._names = {"session": session, "run": run}
        self._site = site

    def send(
        self, who: str, method: str, path: str, body: Json | None, names: dict[str, str] | None = None
    ) -> httpx2.Response:
        names = names or self._names
        if body is not None and "session" in body:
            body = {**body, "session": names["session"]}
        with self._site.client(verify=False) as http:
            return http.request(method, path.format(**names), json=body, headers=self.headers[who])

    def state(self) -> list[Any]:
        """Everything that a request could have changed."""
        return [
            list(Session.objects.filter(handle=self._names["session"]).values()),
            list(Message.objects.filter(session__handle=self._names["session"]).order_by("seq").values()),
            list(Run.objects.filter(session__handle=self._names["session"]).values("id", "status", "cancel_requested")),
            Session.objects.count(),
            list(UsageDay.objects.order_by("pk").values()),
        ]


@pytest.fixture
def stage(site: Site, person: Callable[..., Person], agent_of: Callable[[Person, Behaviour], str]) -> Iterator[Stage]:
    gate = threading.Event()
    owner, teammate, outsider, inactive, former = (person() for _ in range(5))
    organization = Organization.objects.create(
        owner=Owner.objects.create(handle=f"org-{owner.user.username}"), name="Org"
    )
    for member in (owner, teammate):
        Membership.objects.create(organization=organization, user=member.user)
    session = owner.new_session(agent_of(owner, held(gate)))
    run = owner.post(session, "mine")["run"]
    headers = {each: somebody.headers for each, somebody in (("teammate", teammate), ("outsider", outsider))}
    headers |= {"anonymous": {}, "tampered": {"Authorization": f"Bearer {owner.key[:-6]}AAAAAA"}}
    headers |= {"inactive": inactive.headers, "revoked": former.headers}
    # Both were somebody a moment ago: the key is known to the site.
    for somebody in (inactive, former):
        assert somebody.http.get("/api/sessions").status_code == 200
    User.objects.filter(pk=inactive.user.pk).update(is_active=False)
    ApiKey.objects.filter(user=former.user).update(revoked=timezone.now())
    yield Stage(site, owner, session, run, headers)
    gate.set()
    owner.settled(session)


@pytest.mark.parametrize("who", CALLERS)
def test_a_session_is_its_owners_alone(stage: Stage, who: str) -> None:
    before = stage.state()
    for method, path, body in ENDPOINTS:
        refused = stage.send(who, method, path, body)
        assert refused.status_code == STATUS[who], (method, path)
        assert error_of(refused)["code"] == CODE[STATUS[who]], (method, path)
        assert ("WWW-Authenticate" in refused.headers) == (refused.status_code == NOBODY)
    assert stage.state() == before


@pytest.mark.parametrize("who", CALLERS[2:])
def test_who_is_nobody_gets_nothing_at_all(stage: Stage, who: str) -> None:
    before = stage.state()
    for method, path, body in OPEN:
        refused = stage.send(who, method, path, body)
        assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated"), (method, path)
    assert stage.state() == before


def test_the_owners_own_key_stops_working_everywhere_the_moment_it_is_revoked(stage: Stage) -> None:
    stage.headers["owner"] = stage.owner.headers
    assert stage.send("owner", "GET", "/api/sessions/{session}", None).status_code == 200
    key = ApiKey.objects.filter(user=stage.owner.user)
    key.update(revoked=timezone.now())
    before = stage.state()
    for method, path, body in ENDPOINTS + OPEN:
        refused = stage.send("owner", method, path, body)
        assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated"), (method, path)
    assert stage.state() == before
    key.update(revoked=None)


def test_somebody_elses_session_and_one_that_never_was_are_told_apart_by_nothing(stage: Stage) -> None:
    for method, path, body in ENDPOINTS:
        theirs = stage.send("outsider", method, path, body)
        missing = stage.send("outsider", method, path, body, NOWHERE)
        assert (theirs.status_code, theirs.json()) == (missing.status_code, missing.json()), (method, path)


def test_a_browser_asks_with_its_cookie_and_a_csrf_token(site: Site, asker: Person) -> None:
    browser = Client()
    browser.force_login(asker.user)
    session_cookie = browser.cookies["sessionid"].value
    with site.client(verify=False, cookies={"sessionid": session_cookie}) as http:
        assert http.get("/api/sessions").json()["items"] == []
        refused = http.post("/api/agents/fixie/echo", json={"message": {"text": "hi"}})
        assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated")
        assert not Session.objects.filter(owner=asker.user).exists()
        http.get("/")
        token = {"X-CSRFToken": http.cookies["csrftoken"], "Origin": site.url}
        answered = http.post("/api/agents/fixie/echo", json={"message": {"text": "hi"}}, headers=token)
        assert answered.json()["message"]["text"] == "hi"
        stream = http.post("/api/agents/fixie/echo", json={"message": {"text": "hi"}, "stream": True}, headers=token)
        assert '"text":"hi"' in stream.text
        session = answered.json()["session"]
        posted = http.post(f"/api/sessions/{session}/messages", json={"text": "more"}, headers=token)
        assert posted.status_code == 202
        assert len(asker.settled(session)) == 4
        User.objects.filter(pk=asker.user.pk).update(is_active=False)
        assert http.get("/api/sessions").status_code == 401
