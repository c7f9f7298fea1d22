"""Calls that cannot be made: each with its own answer, in OpenAI's form, and no trace left."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bridges.openai_proxy.conftest import PROXY, Asker, error_of, used
from tests.llm_server import MODELS, ScriptedModel
from tests.sites import Site, free_port, running_site

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b"[]", "body"),
        (b'"text"', "body"),
        (b"\xff\xfe", "body"),
        (b'{"model": "\\ud800"}', "body"),
        (b"[" * 100_000, "body"),
        (b'{"model": "scripted", "messages": ' + b"[" * 300 + b"]" * 300 + b"}", "body"),
        (b"{}", "model"),
        (b'{"model": 7}', "model"),
    ],
)
def test_what_is_no_call_is_refused(ann: Asker, model: ScriptedModel, body: bytes, param: str) -> None:
    said = ann.http.post(f"{PROXY}/chat/completions", content=body)

    assert said.status_code == 400
    error = error_of(said)
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", "invalid_request", param)
    assert model.requests == []
    assert used(ann.user) == (0, 0)


def test_a_body_of_four_mebibytes_passes_and_one_more_byte_does_not(ann: Asker, model: ScriptedModel) -> None:
    empty = len(b'{"model": "m", "prompt": ""}')
    for size, status in ((4 * MIB, 200), (4 * MIB + 1, 413)):
        body = b'{"model": "m", "prompt": "%b"}' % (b"x" * (size - empty))
        said = ann.http.post(f"{PROXY}/completions", content=body)
        assert said.status_code == status

    error = error_of(said)
    assert (error["code"], error["param"]) == ("payload_too_large", "body")
    assert str(4 * MIB) in error["message"]
    assert len(model.requests) == 1


def test_ten_megabytes_are_refused_unread(ann: Asker, proxy: Site, model: ScriptedModel) -> None:
    """Only the head is sent, and a bit of the body."""
    head = f"POST {PROXY}/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ann.token}\r\n"
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as client:
        client.sendall(f"{head}Content-Length: 10485760\r\n\r\n{{".encode())
        answer = b""
        while piece := client.recv(65536):
            answer += piece

    assert answer.startswith(b"HTTP/1.1 413 ")
    assert set(json.loads(answer.partition(b"\r\n\r\n")[2])["error"]) == {"message", "type", "param", "code"}
    assert model.requests == []


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "chat"),
        ("POST", "images/generations"),
        ("POST", "models"),
        ("GET", "chat/completions"),
        ("GET", "files"),
        ("DELETE", "models/scripted"),
        ("PUT", "chat/completions"),
        ("GET", "models/"),
        ("GET", "models/a/%2e%2e/%2e%2e/admin"),
        ("POST", "chat/completions/"),
        ("POST", "%0d%0aX: y"),
    ],
)
def test_what_there_is_not_is_not_found(ann: Asker, model: ScriptedModel, method: str, path: str) -> None:
    said = ann.http.request(method, f"{PROXY}/{path}", json={"model": "scripted"})

    assert said.status_code == 404
    assert error_of(said)["code"] in ("unknown_url", "model_not_found")
    assert model.headers == []


def test_odd_names_of_models_stay_in_their_place(ann: Asker, model: ScriptedModel) -> None:
    assert ann.http.get(f"{PROXY}/models/a%3Fb%23c%20d").status_code == 404
    assert len(model.headers) == 1


def test_a_site_without_a_model_says_so(site: Site, make_user: Any, api_key: Any) -> None:
    with site.client(api_key(make_user())) as http:
        said = http.post(f"{PROXY}/chat/completions", json={"model": "m"})

    assert said.status_code == 503
    assert said.headers["x-should-retry"] == "false"
    assert error_of(said)["message"] == "No language model is configured on this site."


@pytest.fixture(scope="module")
def narrow(server: ScriptedModel) -> Iterator[Site]:
    """A site that lets agents use one of the server's models."""
    with running_site(LLM_BASE_URL=server.url, LLM_PROXY_MODELS="scripted,unknown") as site:
        yield site


def test_models_that_the_site_does_not_share_are_not_there(
    narrow: Site, model: ScriptedModel, make_user: Any, api_key: Any
) -> None:
    with narrow.client(api_key(make_user())) as http:
        assert http.get(f"{PROXY}/models").json()["data"] == MODELS[:1]
        assert http.get(f"{PROXY}/models/scripted").status_code == 200
        assert http.post(f"{PROXY}/chat/completions", json={"model": "scripted"}).status_code == 200
        reached = len(model.headers)

        for said in (
            http.get(f"{PROXY}/models/huge/model"),
            http.post(f"{PROXY}/chat/completions", json={"model": "huge/model"}),
            http.post(f"{PROXY}/embeddings", content=b'{"model": "huge/model", "model": "scripted", "model": "x"}'),
        ):
            assert said.status_code == 404
            assert (error_of(said)["code"], error_of(said)["param"]) == ("model_not_found", "model")
    assert len(model.headers) == reached


@pytest.fixture(scope="module")
def alone(database: None) -> Iterator[Site]:
    """A site whose language model server is not there."""
    with running_site(LLM_BASE_URL=f"http://127.0.0.1:{free_port()}/v1") as site:
        yield site


def test_a_server_that_is_away_is_a_502(alone: Site, make_user: Any, api_key: Any) -> None:
    user = make_user()
    with alone.client(api_key(user)) as http:
        said = http.post(f"{PROXY}/chat/completions", json={"model": "m", "stream": True})

    assert said.status_code == 502
    assert error_of(said)["message"] == "The language model server cannot be reached."
    assert used(user) == (0, 0)
