"""Bodies that are larger than any call may be: refused before they are read, or as soon as they turn out so."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings

from fixie_site.bodies import SLACK
from tests.sites import Site

GIB = 1024**3
MIB = 1024**2


@pytest.fixture
def key(make_user: Callable[..., Any], api_key: Callable[..., str]) -> str:
    return api_key(make_user())


def test_a_body_over_the_limit_is_refused_and_the_limit_named(site: Site, key: str) -> None:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    with site.client(key) as http:
        for length in (limit, limit + SLACK):
            answer = http.post("/api/sessions", json={"name": "x" * length})
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == "payload_too_large"
            assert answer.json()["error"]["details"] == {"field": "body", "limit": limit}
        assert http.get("/api/sessions").json()["items"] == []


@pytest.mark.parametrize(
    ("method", "path", "limit"),
    [
        ("POST", "/api/embeds", 25 * MIB),
        ("PUT", "/attachment/uploads/01a1ff1a-6840-7710-93a5-01dd6692fe43", 25 * MIB),
        ("POST", "/graphql", 25 * MIB),
        ("POST", "/api/embeds/uploads", MIB),
        ("POST", "/api/sessions", MIB),
        ("POST", "/nowhere", MIB),
    ],
)
def test_two_gigabytes_are_refused_when_they_are_announced(site: Site, method: str, path: str, limit: int) -> None:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {2 * GIB}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", site.port), timeout=5) as wire:
        wire.sendall(head.encode())
        answered, _, body = answer_of(wire).partition(b"\r\n\r\n")
    assert answered.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answered.lower()
    assert json.loads(body)["error"]["details"] == {"field": "body", "limit": limit}


def test_a_body_without_a_length_is_cut_off_at_the_limit(site: Site, key: str) -> None:
    head = f"POST /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n"
    chunk = b"%x\r\n%b\r\n" % (64 * 1024, b" " * 64 * 1024)
    sent = 0
    with socket.create_connection(("127.0.0.1", site.port), timeout=5) as wire:
        wire.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        try:
            while sent < 100 * MIB:
                wire.sendall(chunk)
                sent += len(chunk)
        except ConnectionError:
            pass
        answer = answer_of(wire)
    assert sent < 100 * MIB
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_without_a_length_is_read_as_any_other(site: Site, key: str) -> None:
    def pieces() -> Iterator[bytes]:
        yield b'{"name": '
        time.sleep(0.05)
        yield b'"in pieces"}'

    with site.client(key) as http:
        answer = http.post("/api/sessions", content=pieces(), headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["name"]) == (201, "in pieces")


def answer_of(wire: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    answer = b""
    try:
        while piece := wire.recv(65536):
            answer += piece
    except ConnectionError:
        pass
    return answer
