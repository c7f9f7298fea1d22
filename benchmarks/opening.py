"""Opening a long session: its page, its socket and its last messages, against those of a short one."""

import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from django.db import connection

from benchmarks.load import Connection, bounded, request
from benchmarks.people import conversations, cookie_of, key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving
from benchmarks.sockets import Dress, joined

SHORT, LONG = 50, 10_000
SHOWN = 50
# As on any site most sessions are short, and the planner's statistics say so.
OTHERS = 20_000
BOUND = 1.3
PART_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Session:
    handle: str
    messages: int


Way = Callable[[Session], Awaitable[object]]


def measure(*, quick: bool) -> list[Row]:
    user = new_user()
    conversations(user, count=OTHERS, messages=2)
    short, long = (Session(conversations(user, count=1, messages=size)[0], size) for size in (SHORT, LONG))
    _analyze()
    with serving() as server:
        measuring = _measure(server, short, long, key_of(user), cookie_of(user), 20 if quick else 80)
        return bounded(measuring, PART_SECONDS)


def _analyze() -> None:
    """What autovacuum does within a minute of such a change."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


async def _measure(server: Server, short: Session, long: Session, key: str, cookie: str, times: int) -> list[Row]:
    http = await Connection.open(server.port)
    dress = Dress({"Origin": server.url, "Cookie": cookie}, "deflate")
    ways: dict[str, Way] = {
        "its page": partial(_page, http, cookie),
        "its socket": partial(_socket, server, dress),
        "its last messages": partial(_messages, http, key),
    }
    rows = [await _compared(f"10,000 messages: {name}", way, short, long, times) for name, way in ways.items()]
    http.close()
    return rows


async def _compared(name: str, way: Way, short: Session, long: Session, times: int) -> Row:
    """Opens the two in turns; the first few, which warm up, do not count."""
    pairs = [(await _timed(way, short), await _timed(way, long)) for _ in range(times + 5)][5:]
    few, many = (statistics.median(values) for values in zip(*pairs, strict=True))
    return Row(name, many / few, "x 50", at_most=BOUND, detail=f"{many * 1e3:.1f} ms to {few * 1e3:.1f} ms")


async def _timed(way: Way, session: Session) -> float:
    began = time.perf_counter()
    await way(session)
    return time.perf_counter() - began


async def _page(http: Connection, cookie: str, session: Session) -> None:
    await http.ask(request("GET", f"/sessions/{session.handle}", cookie=cookie))


async def _messages(http: Connection, key: str, session: Session) -> None:
    path = f"/api/sessions/{session.handle}/messages?before={session.messages + 1}&limit={SHOWN}"
    await http.ask(request("GET", path, key=key))


async def _socket(server: Server, dress: Dress, session: Session) -> None:
    socket = await joined(server, session.handle, dress, since=session.messages - SHOWN)
    await socket.close()
