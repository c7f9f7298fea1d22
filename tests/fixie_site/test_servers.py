"""The site answers the same under uvicorn and under daphne."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from accounts.models import User
from tests.sites import Site, running_site

KEY, NOBODY = True, False
LARGE = json.dumps({"text": "x" * 65_537}).encode()
QUESTION = {"message": {"text": "ünï 🎲"}}

# Who asks, method, path, and what httpx2 is told beside it. `{session}` is one of the asker's sessions.
REQUESTS: list[tuple[bool, str, str, dict[str, Any]]] = [
    (NOBODY, "GET", "/healthz", {}),
    (NOBODY, "HEAD", "/healthz", {}),
    (NOBODY, "GET", "/readyz", {}),
    (NOBODY, "GET", "/.well-known/jwks.json", {}),
    (NOBODY, "GET", "/", {}),
    (NOBODY, "GET", "/accounts/login/", {}),
    (NOBODY, "POST", "/accounts/login/", {"data": {"login": "x"}}),
    (NOBODY, "GET", "/sessions/{session}", {}),
    (NOBODY, "GET", "/static/css/site.css", {}),
    (NOBODY, "GET", "/static/css/site.css", {"headers": {"Range": "bytes=0-9"}}),
    (NOBODY, "GET", "/static/nothing.css", {}),
    (NOBODY, "GET", "/nothing/%C3%A9?q=%F0%9F%8E%B2", {}),
    (NOBODY, "GET", "/api/openapi.json", {}),
    (NOBODY, "GET", "/api/sessions", {}),
    (NOBODY, "GET", "/healthz", {"headers": {"Host": "evil.example"}}),
    (NOBODY, "GET", "/healthz", {"headers": {"X-Request-ID": "mine"}}),
    (KEY, "GET", "/api/nothing", {}),
    (KEY, "GET", "/api/sessions", {}),
    (KEY, "PUT", "/api/sessions", {}),
    (KEY, "POST", "/api/sessions", {"json": {"name": "é\0"}}),
    (KEY, "POST", "/api/sessions/{session}/messages", {"content": b"{"}),
    (KEY, "POST", "/api/sessions/{session}/messages", {"content": b'{"text": "\xff"}'}),
    (KEY, "POST", "/api/sessions/{session}/messages", {"content": LARGE}),
    (KEY, "POST", "/api/sessions/{session}/messages", {"content": b"x" * 1_100_000}),
    (KEY, "POST", "/api/sessions/{session}/messages", {"json": {"text": ""}}),
    (KEY, "GET", "/api/sessions/{session}/messages?since=x", {}),
    (KEY, "GET", "/api/sessions/{session}/messages?since=99", {}),
    (KEY, "GET", "/api/sessions/%00/messages", {}),
    (KEY, "GET", "/api/sessions/%C3%A9", {}),
    (KEY, "POST", "/api/agents/fixie/no-such-agent", {"json": QUESTION}),
    (KEY, "POST", "/api/agents/fixie/%E2%80%AE", {"json": QUESTION}),
    (KEY, "POST", "/api/agents/fixie/echo", {"json": QUESTION}),
    (KEY, "POST", "/api/agents/fixie/echo", {"json": {**QUESTION, "stream": True}}),
    (KEY, "POST", "/api/agents/fixie/echo", {"json": QUESTION}),
    (KEY, "POST", "/api/runs/nonsense/cancel", {}),
    (KEY, "DELETE", "/api/sessions/{session}", {}),
    (KEY, "GET", "/api/sessions/{session}", {}),
]
HEADERS = (
    "allow",
    "cache-control",
    "content-range",
    "content-type",
    "cross-origin-opener-policy",
    "location",
    "referrer-policy",
    "retry-after",
    "vary",
    "www-authenticate",
    "x-content-type-options",
    "x-frame-options",
)
# What is another each time: ids, times, tokens, names of new sessions, the moment in which a quota ends.
VARYING = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?"), "TIME"),
    (re.compile(r'("(?:session|handle)":\s?")[a-z-]+"'), r'\1SESSION"'),
    (re.compile(r'("retry_after":\s?)\d+'), r"\1SECONDS"),
    (re.compile(r"\b[A-Za-z0-9]{64}\b"), "TOKEN"),
]


class Visitor:
    """Somebody with a session and a quota of two queries, who visits one of the servers."""

    def __init__(self, site: Site, user: User, key: str) -> None:
        self.site, self.key = site, key
        self.http = site.client(key, verify=False)
        self.session = self.new_session()
        self._names = {user.username: "USER", str(site.port): "PORT"}

    def new_session(self) -> str:
        return str(self.http.post("/api/sessions", json={"agent": "fixie/echo"}).json()["handle"])

    def same(self, text: str) -> str:
        """The text without what differs between two visits."""
        for name, word in {**self._names, self.session: "SESSION"}.items():
            text = text.replace(name, word)
        for pattern, word in VARYING:
            text = pattern.sub(word, text)
        return text

    def send(self, has_key: bool, method: str, path: str, options: dict[str, Any]) -> dict[str, Any]:
        with self.site.client(self.key if has_key else None, verify=False) as http:
            answer = http.request(method, path.format(session=self.session), **options)
        sent = {name: self.same(answer.headers[name]) for name in HEADERS if name in answer.headers}
        if "retry-after" in sent:
            assert 0 < int(sent.pop("retry-after")) <= 86_400
        return {
            "status": answer.status_code,
            "headers": sent,
            "cookies": sorted(answer.cookies),
            "request": answer.headers["X-Request-ID"] == "mine",
            "body": self.same(answer.text),
        }


@pytest.fixture(scope="module")
def daphne(database: None) -> Iterator[Site]:
    with running_site(server="daphne") as site:
        yield site


@pytest.fixture
def visitors(
    site: Site, daphne: Site, echo: str, make_user: Callable[..., User], api_key: Callable[..., str]
) -> list[Visitor]:
    users = [make_user(f"visitor-{uuid.uuid4().hex[:8]}", daily_query_limit=2) for _ in range(2)]
    return [Visitor(each, user, api_key(user)) for each, user in zip((site, daphne), users, strict=True)]


def test_both_servers_give_the_same_answers_to_the_same_requests(visitors: list[Visitor]) -> None:
    seen = set()
    for request in REQUESTS:
        under_uvicorn, under_daphne = (visitor.send(*request) for visitor in visitors)
        assert under_uvicorn == under_daphne, request[1:3]
        seen.add(under_uvicorn["status"])
    assert seen >= {200, 204, 302, 400, 401, 404, 405, 413, 429}


def test_both_servers_stream_the_same_events(visitors: list[Visitor]) -> None:
    told = []
    for visitor in visitors:
        address = f"/api/sessions/{visitor.session}"
        with visitor.http.stream("GET", f"{address}/events") as answer:
            lines = answer.iter_lines()
            said = [next(lines) for _ in range(4)]
            visitor.http.post(f"{address}/messages", json={"text": "hi 🎲\u2028"})
            for line in lines:
                said.append(line)
                if '"completed"' in line:
                    break
            headers = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
        told.append((answer.status_code, headers, [visitor.same(line) for line in said]))
    assert told[0] == told[1]
    assert any("hi 🎲" in line for line in told[0][2])


def test_both_servers_hold_the_same_conversation_over_a_socket(visitors: list[Visitor]) -> None:
    told = []
    for visitor in visitors:
        frames: list[str | bytes] = [
            "{",
            b"\x00",
            '{"type": "message", "text": "hi 🎲", "client_id": "1"}',
            "x" * 500_000,
        ]
        address = f"{visitor.site.ws_url}/ws/sessions/{visitor.session}"
        key = {"Authorization": f"Bearer {visitor.key}"}
        with connect(address, additional_headers=key, proxy=None) as socket:
            said = [socket.recv(timeout=10)]
            for frame in frames:
                socket.send(frame)
                said.append(socket.recv(timeout=10))
            while len(said) < 8:
                said.append(socket.recv(timeout=10))
        told.append(sorted(visitor.same(str(frame)) for frame in said))
    assert told[0] == told[1]


@pytest.mark.parametrize("key", [KEY, NOBODY])
def test_both_servers_refuse_the_same_sockets(visitors: list[Visitor], key: bool) -> None:
    told = []
    for visitor in visitors:
        headers = {"Authorization": f"Bearer {visitor.key}"} if key else {}
        with connect(
            f"{visitor.site.ws_url}/ws/sessions/no-such-session", additional_headers=headers, proxy=None
        ) as socket:
            said = socket.recv(timeout=10)
            with pytest.raises(Exception, match=r"4404|4401"):
                socket.recv(timeout=10)
            told.append((said, socket.close_code))
        with pytest.raises(InvalidStatus) as refused:
            connect(f"{visitor.site.ws_url}/ws/nothing", additional_headers=headers, proxy=None)
        assert refused.value.response.status_code == 403
    assert told[0] == told[1]
    assert told[0][1] == (4404 if key else 4401)


def test_a_client_that_leaves_in_the_middle_of_an_answer_harms_neither_server(visitors: list[Visitor]) -> None:
    for visitor in visitors:
        for _ in range(30):
            with pytest.raises(httpx2.TimeoutException), visitor.site.client(visitor.key, verify=False) as http:
                http.get(f"/api/sessions/{visitor.session}/events?since=0", timeout=httpx2.Timeout(10, read=0.02))
        assert [visitor.new_session() for _ in range(30)]
