"""Somebody who uses the API, and what they do with it in nearly every test."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from accounts.models import User

Json = dict[str, Any]
UNFINISHED = ("queued", "in_progress")


@dataclass(frozen=True)
class Person:
    """A user, an API key of theirs, and a client of the site that sends it."""

    user: "User"
    key: str
    http: httpx2.Client

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}

    def new_session(self, agent: str | None = "fixie/echo", **fields: Any) -> str:
        """The handle of a new session."""
        answer = self.http.post("/api/sessions", json={"agent": agent, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["handle"])

    def ask(self, agent: str, text: str, **fields: Any) -> httpx2.Response:
        return self.http.post(f"/api/agents/{agent}", json={"message": {"text": text}, **fields})

    def post(self, session: str, text: str, **fields: Any) -> Json:
        """Posts a query that is accepted: `{session, run, seq, status}`."""
        answer = self.http.post(f"/api/sessions/{session}/messages", json={"text": text, **fields})
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def messages(self, session: str, **query: Any) -> list[Json]:
        answer = self.http.get(f"/api/sessions/{session}/messages", params=query)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])

    def session(self, handle: str) -> Json:
        answer = self.http.get(f"/api/sessions/{handle}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def settled(self, handle: str) -> list[Json]:
        """The messages of a session, once nothing is being answered in it."""
        wait_until(lambda: not self.session(handle)["runs"])
        return self.messages(handle)


def wait_until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """What `condition` returns, as soon as it is true; fails after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)
    return value


def error_of(answer: httpx2.Response) -> Json:
    """The `error` of an answer; fails unless it has the one shape that errors have."""
    document = answer.json()
    assert set(document) == {"error"}, document
    error: Json = document["error"]
    assert set(error) == {"code", "message", "retryable", "details"}, error
    assert error["message"]
    return error
