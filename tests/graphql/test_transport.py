"""The requests that carry documents: methods, bodies, cookies, files, and the page at the same address."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.graphql import documents
from tests.graphql.asking import Asker, error_of
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

WHO = "{user {username}}"


@contextmanager
def browser(site: Site, user: "User") -> Iterator[httpx2.Client]:
    """A browser in which the user has signed in; it has no CSRF token yet."""
    from django.test import Client

    client = Client()
    client.force_login(user, "django.contrib.auth.backends.ModelBackend")
    with site.client() as http:
        http.cookies["sessionid"] = client.cookies["sessionid"].value
        yield http


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"5", b"null", b'"text"', b"[]", b"{}", b'{"query": 5}', b'{"query": null}', b'{"query": ""}',
     b'{"query": "{user {username}}", "variables": []}', b'{"query": "{user {username}}", "variables": "x"}',
     b'{"query": "{user {username}}", "extensions": 1}', b'[{"query": "{user {username}}"}]', b"\xff\xfe",
     b'{"query": "\\ud800"}', b"[" * 100_000],
)  # fmt: skip
def test_a_body_that_is_no_request_is_refused(ann: Asker, body: bytes) -> None:
    answer = ann.http.post("/graphql", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert error_of(answer)["code"] == "invalid_request"


def test_a_batch_is_refused_in_words(ann: Asker) -> None:
    answer = ann.http.post("/graphql", json=[{"query": WHO}])
    assert "Batching" in error_of(answer)["message"]


def test_a_large_body_is_refused(ann: Asker) -> None:
    answer = ann.send(WHO, text="x" * 2_000_000)
    assert (answer.status_code, error_of(answer)["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data"])
def test_a_body_of_another_type_is_refused(ann: Asker, content_type: str) -> None:
    body = json.dumps({"query": WHO}).encode()
    answer = ann.http.post("/graphql", content=body, headers={"Content-Type": content_type})
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_request")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_refused(ann: Asker, method: str) -> None:
    answer = ann.http.request(method, "/graphql")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, POST")
    assert error_of(answer)["code"] == "invalid_request"


def test_queries_may_be_sent_with_get_and_mutations_not(ann: Asker) -> None:
    answer = ann.http.get("/graphql", params={"query": WHO})
    assert answer.json() == {"data": {"user": {"username": ann.user.username}}}
    with_variables = {"query": documents.GET_AGENT_BY_ID, "variables": '{"agentId": "fixie/echo"}'}
    assert ann.http.get("/graphql", params=with_variables).json()["data"]["agentById"]["handle"] == "echo"
    refused = ann.http.get("/graphql", params={"query": "mutation {createSession {session {handle}}}"})
    assert (refused.status_code, error_of(refused)["code"]) == (400, "invalid_request")
    assert ann.http.get("/graphql", params={"query": WHO, "variables": "{"}).status_code == 400
    assert ann.ask(documents.GET_SESSIONS) == {"allSessions": []}


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"operations": (None, "{")},
        {"operations": (None, "5"), "map": (None, "{}")},
        {"operations": (None, "[]"), "map": (None, "{}")},
        {"operations": (None, "{}"), "map": (None, "5")},
        {"operations": (None, "{}"), "map": (None, '{"0": ["variables.a"]}')},
        {"operations": (None, "{}"), "map": (None, '{"0": ["variables.a"]}'), "0": ("f", b"x")},
        {"operations": (None, "{}"), "map": (None, '{"0": 5}'), "0": ("f", b"x")},
        {"operations": (None, '{"variables": {"a": []}}'), "map": (None, '{"0": ["variables.a.7"]}'), "0": ("f", b"x")},
        {"operations": (None, '{"variables": 5}'), "map": (None, '{"0": ["variables.a"]}'), "0": ("f", b"x")},
    ],
)
def test_files_that_lead_nowhere_are_refused(ann: Asker, parts: dict[str, Any]) -> None:
    answer = ann.http.post("/graphql", files=parts or {"x": (None, "")})
    assert answer.status_code == 400, answer.text
    assert error_of(answer)["code"] == "invalid_request"


def test_a_broken_multipart_body_is_refused(ann: Asker) -> None:
    headers = {"Content-Type": "multipart/form-data; boundary=xyz"}
    answer = ann.http.post("/graphql", content=b"--xyz\r\nnonsense", headers=headers)
    assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid_request")


def test_a_browser_needs_its_csrf_token(site: Site, make_user: Callable[..., "User"]) -> None:
    user = make_user()
    with browser(site, user) as http:
        mutation = {"query": "mutation {createSession {session {handle}}}"}
        for forged in (http.post("/graphql", json=mutation), http.post("/graphql", data=mutation)):
            assert (forged.status_code, error_of(forged)["code"]) == (401, "unauthenticated")
        assert user.sessions.count() == 0

        http.get("/")
        token = {"X-CSRFToken": http.cookies["csrftoken"], "Origin": site.url}
        made = http.post("/graphql", json=mutation, headers=token)
        assert made.status_code == 200, made.text
        assert user.sessions.count() == 1
        foreign = {**token, "Origin": "https://evil.example"}
        assert http.post("/graphql", json=mutation, headers=foreign).status_code == 401


def test_graphiql_is_for_staff(site: Site, make_user: Callable[..., "User"]) -> None:
    html = {"Accept": "text/html,*/*"}
    with browser(site, make_user(is_staff=True)) as http:
        page = http.get("/graphql", headers=html)
        assert page.status_code == 200
        assert "/static/js/graphiql.js" in page.text
        assert "data-csrf-token" in page.text
        assert "//unpkg" not in page.text
        for path in ("/static/js/graphiql.js", "/static/vendor/graphiql.js", "/static/vendor/graphiql.css"):
            assert http.get(path).status_code == 200
    with browser(site, make_user()) as http:
        assert http.get("/graphql", headers=html).status_code == 404
    with site.client() as http:
        away = http.get("/graphql", headers=html)
        assert (away.status_code, away.headers["Location"]) == (302, "/accounts/login/?next=/graphql")


def test_the_schema_is_told_to_whoever_may_ask(ann: Asker, stranger: Asker) -> None:
    from graphql import get_introspection_query

    assert ann.ask(get_introspection_query())["__schema"]["queryType"]["name"] == "Query"
    assert stranger.send(get_introspection_query()).status_code == 401
