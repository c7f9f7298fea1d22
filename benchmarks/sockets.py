"""Memory of the sockets of people who are reading: open, and nothing happens."""

import asyncio
import time
from dataclasses import dataclass

from websockets.asyncio.client import ClientConnection, connect
from websockets.protocol import State

from benchmarks.load import bounded
from benchmarks.people import conversations, cookie_of, key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving

SOCKETS = 2000
BOUND_MB = 120
PART_SECONDS = 90.0
# So many are being opened at a time.
OPENING = 50
SETTLE_SECONDS = 2.0
WARM_UP = 50
MESSAGES = 2


@dataclass(frozen=True, slots=True)
class Dress:
    """How a client comes: its headers, and whether it offers to compress (`deflate`), as browsers do."""

    headers: dict[str, str]
    compression: str | None


def measure(*, quick: bool) -> list[Row]:
    """A fresh process for each kind of client, so that neither finds memory that the other left."""
    user = new_user()
    handles = conversations(user, count=SOCKETS, messages=MESSAGES)
    browser, program = {"Cookie": cookie_of(user)}, {"Authorization": f"Bearer {key_of(user)}"}
    rows = [_measure("2,000 idle sockets of browsers", handles, browser, "deflate", BOUND_MB)]
    if not quick:
        rows.append(_measure("  with a key and uncompressed", handles, program, None, None))
    return rows


def _measure(
    name: str, handles: list[str], headers: dict[str, str], compression: str | None, at_most: float | None
) -> Row:
    with serving() as server:
        dress = Dress({"Origin": server.url, **headers}, compression)
        grown, seconds = bounded(_grown(server, handles, dress), PART_SECONDS)
    detail = f"{grown / len(handles) / 1024:.1f} KB a socket; opened in {seconds:.1f} s"
    return Row(name, grown / 2**20, "MB", at_most=at_most, detail=detail)


async def _grown(server: Server, handles: list[str], dress: Dress) -> tuple[int, float]:
    """Bytes that the process grows by while all sockets are open, and how long they took to open."""
    await _close(await _open(server, handles[:WARM_UP], dress))
    await asyncio.sleep(SETTLE_SECONDS)
    empty = server.memory()
    began = time.monotonic()
    sockets = await _open(server, handles, dress)
    seconds = time.monotonic() - began
    await asyncio.sleep(SETTLE_SECONDS)
    grown = server.memory() - empty
    if not all(socket.state is State.OPEN for socket in sockets):
        raise RuntimeError("Some sockets were closed while they were idle.")
    await _close(sockets)
    return grown, seconds


async def _open(server: Server, handles: list[str], dress: Dress) -> list[ClientConnection]:
    turnstile = asyncio.Semaphore(OPENING)

    async def one(handle: str) -> ClientConnection:
        async with turnstile:
            return await joined(server, handle, dress)

    return await asyncio.gather(*map(one, handles))


async def joined(server: Server, handle: str, dress: Dress, since: int = 0) -> ClientConnection:
    """A socket of the session that has received all that was said after `since`."""
    socket = await connect(
        f"{server.ws_url}/ws/sessions/{handle}?since={since}",
        additional_headers=dress.headers,
        compression=dress.compression,
        ping_interval=None,
        proxy=None,
    )
    while b'"synced"' not in await socket.recv(decode=False):
        pass
    return socket


async def _close(sockets: list[ClientConnection]) -> None:
    await asyncio.gather(*(socket.close() for socket in sockets))
