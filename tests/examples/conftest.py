"""A key set over HTTP, tokens signed with it, and sample agents as processes that trust it."""

import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any, Self

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Site:
    """A stand-in for the site's key set; its key signs tokens as the site would."""

    url: str = ""
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    def token(self, aid: str | None = "fixie/dice", *, key: object = None, **claims: Any) -> str:
        """A token for a call to `aid`; `claims` change it, None leaves a claim out."""
        now = int(time.time())
        audience = ["http://testserver/api", "https://app.fixie.ai/api", "https://app.dev.fixie.ai/api"]
        whole = {"iss": self.url, "aud": audience, "sub": "1", "aid": aid, "iat": now, "exp": now + 60} | claims
        present = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(present, key or self.key, "EdDSA", headers={"kid": "test"})

    def jwks(self) -> dict[str, Any]:
        jwk = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**jwk, "kid": "test", "use": "sig", "alg": "EdDSA"}]}


@pytest.fixture(scope="session")
def fixie() -> Iterator[Site]:
    site = Site()
    body = json.dumps(site.jwks()).encode()

    class KeySet(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/.well-known/jwks.json" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingTCPServer(("127.0.0.1", 0), KeySet) as server:
        site.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield site
        server.shutdown()


@dataclass
class Answer:
    status: int
    document: Any
    headers: http.client.HTTPMessage
    raw: bytes

    @property
    def text(self) -> str:
        text = self.document["message"]["text"]
        assert isinstance(text, str)
        return text


class Client:
    """One kept-open connection to an agent."""

    def __init__(self, port: int, token: str | None = None) -> None:
        self.token = token
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Makes a request as it is; `headers` with _ for -."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        self.connection.request(method, path, body, sent)
        response = self.connection.getresponse()
        raw = response.read()
        lines = [json.loads(line) for line in raw.splitlines()]
        document = lines if response.headers["Content-Type"] == "application/jsonl" else lines[0]
        return Answer(response.status, document, response.headers, raw)

    def call(self, path: str, text: str, **headers: str) -> Answer:
        return self.send("POST", path, json.dumps({"message": {"text": text}}).encode(), **headers)

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def running(*command: str, **options: Any) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A Python process that says `ready PORT`; ended through its standard input."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **{"cwd": ROOT, **options},
    )
    with process:
        try:
            assert process.stdout
            word, _, port = process.stdout.readline().partition(" ")
            assert word == "ready", process.communicate(timeout=10)
            yield process, int(port)
        finally:
            process.kill()


@pytest.fixture(scope="session")
def run_agent() -> Callable[..., Any]:
    """`with run_agent("-m", "examples.agents.dice", …) as (process, port)`."""
    return running


@pytest.fixture(scope="session")
def all_agents(fixie: Site) -> Iterator[int]:
    """The port of one process with every sample agent, each trusting tokens meant for `fixie/HANDLE`."""
    arguments = ("--port", "0", "--fixie", fixie.url, "--owner", "fixie", "--until-stdin-closes")
    with running("-m", "examples.agents", *arguments) as (_, port):
        yield port


@pytest.fixture
def client(all_agents: int, fixie: Site) -> Iterator[Callable[..., Client]]:
    """`client("dice")` → a connection whose calls carry a good token for `fixie/dice`."""
    made: list[Client] = []

    def make(handle: str, token: str | None = None) -> Client:
        made.append(Client(all_agents, fixie.token(f"fixie/{handle}") if token is None else token))
        return made[-1]

    yield make
    for connection in made:
        connection.close()


@pytest.fixture(scope="session")
def connect() -> type[Client]:
    return Client
