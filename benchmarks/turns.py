"""Echo turns: asked with a key, charged, run, stored and streamed back, against a bare view of the same process."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.load import Round, bounded, load, request
from benchmarks.people import key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving

CLIENTS = 16
ROUNDS = 7
PART_SECONDS = 90.0
TURN = b'{"message": {"text": "hello there"}, "stream": true}'
ALIVE = b'"alive"'
ANSWERED = b'"type":"response"'
STOCK = request("GET", "/yardstick")
# With a key the site's middleware for browsers steps aside, as it does for the turn.
ON_THE_SITE = request("GET", "/yardstick/site", key="none")


@dataclass(frozen=True, slots=True)
class Kind:
    """What a client asks, and what must be in its answer."""

    requests: list[bytes]
    expect: bytes


@dataclass(frozen=True, slots=True)
class Pair:
    """A round of the yardstick and the round right after it; `base_cpu` and `cpu`: the site's seconds an answer."""

    base: Round
    base_cpu: float
    other: Round
    cpu: float


def measure(*, quick: bool) -> list[Row]:
    keys = [key_of(new_user()) for _ in range(CLIENTS)]
    with serving() as server:
        return bounded(_measure(server, keys, 0.3 if quick else 1.0), PART_SECONDS)


async def _measure(server: Server, keys: list[str], scale: float) -> list[Row]:
    turns = [request("POST", "/api/agents/fixie/echo", key=key, body=TURN) for key in keys]
    many, alone = Kind([STOCK] * CLIENTS, ALIVE), Kind([STOCK], ALIVE)
    echo = Kind(turns, ANSWERED)
    # Alone comes first: after a crowd, autovacuum shares the cores for a while.
    single = await _pairs(server, alone, Kind(turns[:1], ANSWERED), seconds=scale)
    await _pairs(server, many, echo, seconds=scale, rounds=1)
    crowd = await _pairs(server, many, echo, seconds=2 * scale)
    shared = await _pairs(server, many, Kind(turns[:1] * CLIENTS, ANSWERED), seconds=scale, rounds=3)
    site = await _pairs(server, many, Kind([ON_THE_SITE] * CLIENTS, ALIVE), seconds=scale, rounds=3)
    return [
        _ratio("echo turn, 16 clients: rate", crowd, _rate, _per_second, at_least=0.6),
        _ratio("echo turn, 16 clients: p99", crowd, _p99, _milliseconds, at_most=1.0),
        _ratio("echo turn, alone: p50", single, _p50, _milliseconds, at_most=2.5),
        _ratio("  16 clients of one user: rate", shared, _rate, _per_second),
        _ratio("  16 clients of one user: p99", shared, _p99, _milliseconds),
        _cpu("  processor time of the site, a turn", crowd),
        _ratio("  the yardstick's view on the site's handler: rate", site, _rate, _per_second),
    ]


async def _pairs(server: Server, base: Kind, other: Kind, *, seconds: float, rounds: int = ROUNDS) -> list[Pair]:
    """Takes turns, so that whatever else the machine does meets both alike."""
    return [Pair(*await _round(server, base, seconds), *await _round(server, other, seconds)) for _ in range(rounds)]


async def _round(server: Server, kind: Kind, seconds: float) -> tuple[Round, float]:
    before = server.cpu()
    seen = await load(server.port, kind.requests, seconds, expect=kind.expect)
    return seen, (server.cpu() - before) / len(seen.times)


def _rate(seen: Round) -> float:
    return seen.rate


def _p50(seen: Round) -> float:
    return seen.p50


def _p99(seen: Round) -> float:
    return seen.p99


def _per_second(value: float) -> str:
    return f"{value:,.0f}/s"


def _milliseconds(value: float) -> str:
    return f"{value * 1e3:.2f} ms"


def _ratio(
    name: str,
    pairs: list[Pair],
    figure: Callable[[Round], float],
    shown: Callable[[float], str],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Row:
    """The median over all pairs of how the second round's figure compares with the first's."""
    bases, others = [figure(pair.base) for pair in pairs], [figure(pair.other) for pair in pairs]
    ratios = [other / base for base, other in zip(bases, others, strict=True)]
    medians = f"{shown(statistics.median(others))} to {shown(statistics.median(bases))}"
    detail = f"{medians}; rounds {min(ratios):.2f} to {max(ratios):.2f}"
    return Row(name, statistics.median(ratios), "x yardstick", at_least, at_most, detail)


def _cpu(name: str, pairs: list[Pair]) -> Row:
    base, turn = (statistics.median(values) for values in zip(*((p.base_cpu, p.cpu) for p in pairs), strict=True))
    return Row(name, turn / base, "x yardstick", detail=f"{_milliseconds(turn)} to {_milliseconds(base)}")
