"""What the sample agents share: an HTTP server that checks tokens and speaks the agent protocol."""

import argparse
import base64
import json
import logging
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

import jwt

AUDIENCE = "https://app.fixie.ai/api"
MAX_BODY = 64 * 1024
CORPUS = {"func_name": "documents"}

logger = logging.getLogger(__name__)

Document = dict[str, Any]


class AgentError(Exception):
    """Tells the user `text`; the HTTP status and `code` tell the platform what kind of trouble it is."""

    def __init__(self, text: str, code: str = "invalid_argument", status: int = 400) -> None:
        super().__init__(text)
        self.status = status
        self.document: Document = {"message": {"text": text}, "error": {"code": code, "message": text}}


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its text, who it is for, and a key that is the same when the same call is made again."""

    text: str
    claims: Mapping[str, Any]
    idempotency_key: str | None


@dataclass(frozen=True, slots=True)
class Agent:
    """A Code Shot agent has `funcs`; one that answers queries itself yields its whole text so far.

    `documents` are texts by their names. The platform reads them where the manifest's `corpora` hold `CORPUS`.
    """

    handle: str
    manifest: Document
    funcs: Mapping[str, Callable[[Call], str]] = field(default_factory=dict)
    answer: Callable[[Call], Iterator[str]] | None = None
    documents: Mapping[str, str] = field(default_factory=dict)

    def corpus(self) -> Document:
        """All documents, as one page of a corpus."""
        documents = [document(name, text) for name, text in self.documents.items()]
        return {"page": {"documents": documents, "next_page_token": None}}


def document(name: str, text: str) -> Document:
    """A document of a corpus; `name` is what answers call their source."""
    content = base64.b64encode(text.encode()).decode()
    return {"source_name": name, "content": content, "encoding": "utf-8", "mime_type": "text/markdown"}


def code_shot(base_prompt: str, few_shots: str) -> Document:
    """The manifest of a Code Shot agent; a blank line parts the few-shots."""
    return {"type": "code_shot", "base_prompt": base_prompt, "few_shots": few_shots.strip().split("\n\n")}


class Tokens:
    """Checks that a call comes from the site at `fixie` and, where `owner` is known, is meant for the agent."""

    def __init__(self, fixie: str, owner: str | None) -> None:
        self._keys = jwt.PyJWKClient(f"{fixie.rstrip('/')}/.well-known/jwks.json", timeout=5)
        self._owner = owner

    def claims(self, authorization: str, agent: Agent) -> Document:
        """The claims of the bearer token. Raises AgentError: 401, or 503 while the key set is out of reach."""
        token = authorization.removeprefix("Bearer ")
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims: Document = jwt.decode(token, key, ["EdDSA"], audience=AUDIENCE, options={"require": ["exp", "aid"]})
        except (jwt.PyJWKClientConnectionError, OSError) as error:
            raise AgentError("The keys of the site cannot be read now.", "unavailable", 503) from error
        except (jwt.PyJWTError, ValueError) as error:
            raise AgentError("This call needs a token of the site.", "unauthenticated", 401) from error
        if self._owner is not None and claims["aid"] != f"{self._owner}/{agent.handle}":
            raise AgentError("This token is meant for another agent.", "unauthenticated", 401)
        return claims


class Server(ThreadingTCPServer):
    """Serves agents by the first part of the path; the agent named `""` has the whole server."""

    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], agents: Mapping[str, Agent], tokens: Tokens) -> None:
        self.agents = agents
        self.tokens = tokens
        super().__init__(address, Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller who leaves early is no news."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """One connection: many requests, each answered in the protocol's words."""

    protocol_version = "HTTP/1.1"  # keeps connections open, which saves the platform a handshake a call
    disable_nagle_algorithm = True
    wbufsize = MAX_BODY  # head and body leave together
    timeout = 75  # seconds of silence after which a connection is closed
    server: Server

    def do_GET(self) -> None:
        try:
            self._read_body()
            agent, path = self._route()
            self._claims(agent)
            if path:
                raise AgentError("Funcs are called with POST.", "invalid_request", 405)
        except AgentError as error:
            self._send(error.status, error.document)
        else:
            self._send(200, agent.manifest)

    def do_POST(self) -> None:
        try:
            reply = self._reply()
        except AgentError as error:
            self._send(error.status, error.document)
        except Exception:
            logger.exception("A Func failed.")
            self._send(500, AgentError("Something went wrong here.", "internal").document)
        else:
            if isinstance(reply, str):
                self._send(200, {"message": {"text": reply}})
            elif isinstance(reply, dict):
                self._send(200, reply)
            else:
                self._stream(reply)

    def _reply(self) -> str | Document | Iterator[str]:
        body = self._read_body()
        agent, path = self._route()
        claims = self._claims(agent)
        if agent.documents and path == f"corpus/{CORPUS['func_name']}":
            return agent.corpus()
        call = Call(text_of(body), claims, self.headers.get("Idempotency-Key"))
        if not path and agent.answer:
            return agent.answer(call)
        if path not in agent.funcs:
            raise AgentError(f"This agent has no Func {path!r}.", "not_found", 404)
        return agent.funcs[path](call)

    def _read_body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not re.fullmatch("[0-9]{1,12}", length):
            self.close_connection = True
            raise AgentError("A body needs its Content-Length.", "invalid_request", 411)
        if int(length) > MAX_BODY:
            self.close_connection = True
            self.rfile.read(min(int(length), 16 * MAX_BODY))  # else the reset outruns the answer
            raise AgentError("A call may have 64 KiB.", "payload_too_large", 413)
        return self.rfile.read(int(length))

    def _route(self) -> tuple[Agent, str]:
        parts = [part for part in self.path.partition("?")[0].split("/") if part]
        alone = "" in self.server.agents
        agent = self.server.agents.get("" if alone or not parts else parts.pop(0))
        if agent is None:
            raise AgentError("There is no such agent here.", "not_found", 404)
        return agent, "/".join(parts)

    def _claims(self, agent: Agent) -> Document:
        return self.server.tokens.claims(self.headers.get("Authorization", ""), agent)

    def _send(self, status: int, answer: Document) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, texts: Iterator[str]) -> None:
        """JSON lines, each with the whole text so far, each sent at once."""
        self.send_response(200)
        self.send_header("Content-Type", "application/jsonl")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for text in texts:
            line = json.dumps({"message": {"text": text}}).encode() + b"\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: what people ask is nobody else's business."""


def text_of(body: bytes) -> str:
    """The text of `{"message": {"text": …}}`, or of a bare `{"text": …}`. Raises AgentError."""
    try:
        document = json.loads(body)
        text = document.get("message", document)["text"]
    except (ValueError, RecursionError, AttributeError, KeyError, TypeError):
        text = None
    if not isinstance(text, str):
        raise AgentError('The body must be JSON: {"message": {"text": …}}.', "invalid_request")
    return text


def main(agents: Agent | Mapping[str, Agent], port: int) -> None:
    """The command line of an agent: serves until a signal, or until its standard input ends."""
    options = parse_arguments(port)
    served = {"": agents} if isinstance(agents, Agent) else agents
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    signal.signal(signal.SIGINT, lambda *_: sys.exit())
    try:
        server = Server((options.host, options.port), served, Tokens(options.fixie, options.owner))
    except (OSError, OverflowError, jwt.PyJWTError) as error:
        sys.exit(f"Cannot serve on {options.host}:{options.port} for {options.fixie}: {error}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", server.server_address[1], flush=True)
    if options.until_stdin_closes:
        while sys.stdin.buffer.read(4096):
            pass
    else:
        threading.Event().wait()


def parse_arguments(port: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=port, help="0 takes a free one (default %(default)s)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    fixie = os.environ.get("FIXIE_URL", "http://127.0.0.1:8000")
    parser.add_argument("--fixie", default=fixie, help="the site whose tokens are good (default %(default)s)")
    parser.add_argument("--owner", help="accept only tokens meant for OWNER/HANDLE")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end together with the parent process")
    return parser.parse_args()
