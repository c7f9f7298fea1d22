"""An agent for tests: a real HTTP server on loopback that answers as it is told, however badly."""

import asyncio
import json
import ssl
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Self

MAX_HEAD = 64 * 1024
POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it arrived; header names are lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Exchange:
    """One request and the wire to answer it on."""

    def __init__(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._writer = writer

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, status: int, headers: dict[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        await self.write("\r\n".join([*lines, "", ""]).encode())

    def close(self) -> None:
        self._writer.close()


Behaviour = Callable[[Exchange], Awaitable[None]]


def answer(
    value: Any = None,
    *,
    body: bytes | None = None,
    status: int = 200,
    content_type: str = "application/json",
    headers: dict[str, str] | None = None,
) -> Behaviour:
    """A whole answer: `value` as JSON, or a function from the Request to it, or the bytes of `body`."""

    async def behave(exchange: Exchange) -> None:
        said = value(exchange.request) if callable(value) else value
        data = json.dumps(said).encode() if body is None else body
        fixed = {"content-type": content_type, "content-length": str(len(data))}
        await exchange.head(status, {**fixed, **(headers or {})})
        await exchange.write(data)

    return behave


def chunks(
    *pieces: bytes,
    delay: float = 0.0,
    end: bool = True,
    status: int = 200,
    content_type: str = "application/json",
) -> Behaviour:
    """A chunked answer, a piece every `delay` seconds. Without `end` it goes on in silence."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head(status, {"content-type": content_type, "transfer-encoding": "chunked"})
        for piece in pieces:
            await exchange.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(delay)
        if not end:
            await hang()(exchange)
        await exchange.write(b"0\r\n\r\n")

    return behave


def drip(piece: bytes = b" ", delay: float = 0.02) -> Behaviour:
    """An answer that never stops and is never silent for longer than `delay` seconds."""

    async def behave(exchange: Exchange) -> None:
        await exchange.head(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
        while True:
            await exchange.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(delay)

    return behave


def hang() -> Behaviour:
    """No answer, for as long as the client waits."""

    async def behave(exchange: Exchange) -> None:
        await asyncio.get_running_loop().create_future()

    return behave


def raw(data: bytes = b"") -> Behaviour:
    """These bytes, whatever they mean, and the end of the connection."""

    async def behave(exchange: Exchange) -> None:
        await exchange.write(data)
        exchange.close()

    return behave


def redirect(location: str, status: int = 302) -> Behaviour:
    return answer(body=b"", status=status, headers={"location": location})


class ScriptedAgent:
    """Serves on a free port in a thread of its own, from `with` to its end.

    `requests` holds what arrived; `left` is set once a client goes away before its answer has ended;
    `connections` counts those accepted. What nobody scripted is answered with 404.
    """

    def __init__(self, *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.left = threading.Event()
        self.connections = 0
        self.port = 0
        self._tls = tls
        self._scripts: dict[tuple[str, str], list[Behaviour]] = {}
        self._idle: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()], daemon=True)

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self.port}"

    def on(self, path: str, *behaviours: Behaviour, method: str = "POST") -> None:
        """Scripts `method path`: one behaviour a request, the last of them for all that follow."""
        self._scripts[method, path] = list(behaviours)

    def drop_idle(self) -> None:
        """Closes every connection on which no request is being answered."""
        for writer in list(self._idle):
            self._loop.call_soon_threadsafe(writer.close)

    async def saw_client_leave(self, within: float = 5.0) -> bool:
        """Whether a client has gone away before its answer ended, or does so in the next moments."""
        return await asyncio.to_thread(self.left.wait, within)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(5)
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(5)

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, ssl=self._tls, limit=MAX_HEAD)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                self._idle.add(writer)
                request = await _read_request(reader)
                self._idle.discard(writer)
                self.requests.append(request)
                await self._answer(Exchange(request, writer), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._idle.discard(writer)
            writer.close()

    async def _answer(self, exchange: Exchange, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behaving = asyncio.ensure_future(self._behaviour(exchange.request)(exchange))
        while not behaving.done():
            await asyncio.wait([behaving], timeout=POLL_SECONDS)
            gone = reader.at_eof() or reader.exception() is not None
            if gone and not writer.is_closing() and not behaving.done():
                self.left.set()
                behaving.cancel()
        if not behaving.cancelled() and isinstance(behaving.exception(), ConnectionError):
            self.left.set()

    def _behaviour(self, request: Request) -> Behaviour:
        script = self._scripts.get((request.method, request.path.partition("?")[0]))
        if not script:
            return answer({"detail": "Not Found"}, status=404)
        return script.pop(0) if len(script) > 1 else script[0]


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.split("\r\n")[:-2]
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)
