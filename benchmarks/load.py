"""The client: HTTP/1.1 over asyncio's streams and little else, so that it leaves the two cores to what is measured."""

import asyncio
import statistics
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import uvloop

T = TypeVar("T")


def request(
    method: str, path: str, *, key: str | None = None, cookie: str | None = None, body: bytes | None = None
) -> bytes:
    """The bytes of one request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if key is not None:
        lines.append(f"Authorization: Bearer {key}")
    if cookie is not None:
        lines.append(f"Cookie: {cookie}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class Connection:
    """One kept-alive connection; a request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, port: int) -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=2**22))

    async def ask(self, request: bytes) -> bytes:
        """The body of the answer, chunks as they came. Raises RuntimeError unless its status is 200."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if b"transfer-encoding: chunked" in head:
            # Our answers are text without a bare CRLF, so this ends nothing but the last chunk.
            body = await self._reader.readuntil(b"\r\n0\r\n\r\n")
        else:
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            body = await self._reader.readexactly(int(length))
        if not head.startswith(b"http/1.1 200 "):
            raise RuntimeError(f"{head.decode()}{body.decode()[:500]}")
        return body

    def close(self) -> None:
        self._writer.close()


@dataclass(frozen=True, slots=True)
class Round:
    """What clients saw in one stretch of time: seconds of every answer, in ascending order."""

    elapsed: float
    times: list[float]

    @property
    def rate(self) -> float:
        return len(self.times) / self.elapsed

    @property
    def p50(self) -> float:
        return statistics.median(self.times)

    @property
    def p99(self) -> float:
        return self.times[int(len(self.times) * 0.99)]


async def load(port: int, requests: list[bytes], seconds: float, *, expect: bytes) -> Round:
    """One client a request, each asking it again and again for `seconds`; every answer must hold `expect`."""
    connections = [await Connection.open(port) for _ in requests]
    times: list[float] = []
    try:
        began = time.perf_counter()
        clients = zip(connections, requests, strict=True)
        await asyncio.gather(*(_client(c, r, began + seconds, expect, times) for c, r in clients))
        return Round(time.perf_counter() - began, sorted(times))
    finally:
        for connection in connections:
            connection.close()


async def _client(connection: Connection, request: bytes, until: float, expect: bytes, times: list[float]) -> None:
    now = time.perf_counter()
    while now < until:
        began = now
        body = await connection.ask(request)
        now = time.perf_counter()
        times.append(now - began)
        if expect not in body:
            raise RuntimeError(f"Not the expected answer: {body[:500]!r}")


def bounded(measuring: Coroutine[Any, Any, T], seconds: float) -> T:
    """Runs `measuring` to its end. Raises TimeoutError after `seconds`."""

    async def limited() -> T:
        async with asyncio.timeout(seconds):
            return await measuring

    return uvloop.run(limited())
