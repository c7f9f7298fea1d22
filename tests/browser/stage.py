"""A loopback server with the site's own modules and a socket that a test scripts, frame by frame."""

import asyncio
import json
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets import ConnectionClosed
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

ROOT = Path(__file__).parents[2]
Frame = dict[str, Any]

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Stage</title>
<link rel="stylesheet" href="/static/css/site.css"></head><body><main class="chat">
<fixie-chat data="session-data"></fixie-chat></main>
<script type="application/json" id="session-data">{data}</script>
<script type="module" src="/static/js/{module}"></script></body></html>"""

# What a strict site will send: nothing inline, nothing evaluated.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' https: data:; connect-src 'self'"


class Connection:
    """One socket of a page: what it sent, and a way to answer."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        query = parse_qs(urlsplit(socket.request.path if socket.request else "").query)
        self.since = int(query["since"][0])
        self.received: asyncio.Queue[Frame] = asyncio.Queue()

    async def send(self, *frames: Frame) -> None:
        for frame in frames:
            await self.socket.send(json.dumps(frame))

    async def next(self) -> Frame:
        """The next frame the page sends."""
        return await asyncio.wait_for(self.received.get(), 10)

    async def drop(self, code: int = 1011) -> None:
        await self.socket.close(code)

    async def read(self) -> None:
        try:
            async for text in self.socket:
                self.received.put_nowait(json.loads(text))
        except ConnectionClosed:
            return


class Stage:
    """`url` serves a chat page for `data`, `module_url` a page without one; sockets wait in line."""

    def __init__(self) -> None:
        self.port = 0
        self.data: Frame = {}
        self.connections: asyncio.Queue[Connection] = asyncio.Queue()
        self.stored: list[Frame] = []
        # What the site answers when fresh links of the session's embeds are asked for.
        self.fresh: list[Frame] = []

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["Stage"]:
        stage = cls()
        async with serve(stage._socket, "127.0.0.1", 0, process_request=stage._http) as server:
            stage.port = next(iter(server.sockets)).getsockname()[1]
            yield stage

    def set(self, messages: list[Frame] | None = None, runs: list[Frame] | None = None, **more: Any) -> None:
        """A new scene: what the page is delivered with; no socket of an earlier one is in line.

        `stored` are earlier messages, which the page has to ask for; `fresh` links of its embeds too.
        """
        messages = messages or []
        self.stored = more.pop("stored", [])
        self.fresh = more.pop("fresh", [])
        last = messages[-1]["seq"] if messages else 0
        data = {"handle": "one-two-three", "messages": messages, "runs": runs or [], "last_seq": last}
        self.data = {**data, "message_max_bytes": 65_536, **more}
        self.connections = asyncio.Queue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/chat"

    @property
    def module_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/modules"

    async def connection(self) -> Connection:
        """The next socket a page opens."""
        return await asyncio.wait_for(self.connections.get(), 20)

    async def _socket(self, socket: ServerConnection) -> None:
        connection = Connection(socket)
        self.connections.put_nowait(connection)
        await connection.read()

    def _http(self, socket: ServerConnection, request: Request) -> Response | None:
        url = urlsplit(request.path)
        path = url.path
        if path.startswith("/ws/"):
            return None
        if path.endswith("/embeds"):
            return _response(json.dumps({"items": self.fresh}).encode(), "application/json")
        if path.startswith("/api/"):
            return self._earlier({name: int(value[0]) for name, value in parse_qs(url.query).items()})
        if path.startswith("/static/") and (found := ROOT / path.removeprefix("/")).is_file():
            return _response(found.read_bytes(), mimetypes.guess_type(found)[0] or "text/plain")
        if path in ("/chat", "/modules"):
            module = "fixie-chat.js" if path == "/chat" else "transcript.js"
            text = PAGE.format(data=json.dumps(self.data).replace("<", "\\u003c"), module=module)
            return _response(text.encode(), "text/html; charset=utf-8")
        return _response(b"", "text/plain", HTTPStatus.NOT_FOUND)

    def _earlier(self, query: dict[str, int]) -> Response:
        found = [one for one in self.stored if one["seq"] < query["before"]][-query["limit"] :]
        return _response(json.dumps({"items": found}).encode(), "application/json")


def _response(body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> Response:
    headers = Headers()
    headers["Content-Type"] = kind
    headers["Content-Length"] = str(len(body))
    headers["Content-Security-Policy"] = POLICY
    return Response(status, status.phrase, headers, body)


def message(seq: int, kind: str, text: str, run: str = "run-1", **more: Any) -> Frame:
    """A message as it stands in frames and in the page's data."""
    reply = None if kind == "query" else 1
    created = "2025-01-01T00:00:00+00:00"
    parts = {"seq": seq, "kind": kind, "text": text, "run": run, "agent": None, "in_reply_to": reply}
    return {**parts, "created": created, **more}


def said(seq: int, kind: str, text: str, run: str = "run-1", **more: Any) -> Frame:
    return {"type": "message", "message": message(seq, kind, text, run, **more)}


def delta(offset: int, text: str, run: str = "run-1") -> Frame:
    return {"type": "delta", "run": run, "offset": offset, "text": text}


def snapshot(text: str, run: str = "run-1") -> Frame:
    return {"type": "snapshot", "run": run, "text": text}


def state(status: str, run: str = "run-1", query: int = 1, **more: Any) -> Frame:
    return {"type": "run", "run": run, "status": status, "query": query, "agent": None, "error": None, **more}


def synced(seq: int) -> Frame:
    return {"type": "synced", "seq": seq}
