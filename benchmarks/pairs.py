"""Rounds of the yardstick and of what is measured, in turns, and what they come to."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.load import Round, load, request
from benchmarks.report import Row
from benchmarks.server import Server

ROUNDS = 7
ALIVE = b'"alive"'


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


def yardstick(clients: int) -> Kind:
    """So many clients of the bare view on stock Django."""
    return Kind([request("GET", "/yardstick")] * clients, ALIVE)


async def pairs(server: Server, base: Kind, other: Kind, *, seconds: float, rounds: int = ROUNDS) -> list[Pair]:
    """Takes turns, so that whatever else the machine does meets both alike."""
    return [Pair(*await _round(server, base, seconds), *await _round(server, other, seconds)) for _ in range(rounds)]


async def _round(server: Server, kind: Kind, seconds: float) -> tuple[Round, float]:
    before = server.cpu()
    seen = await load(server.port, kind.requests, seconds, expect=kind.expect)
    return seen, (server.cpu() - before) / len(seen.times)


def rate(seen: Round) -> float:
    return seen.rate


def p50(seen: Round) -> float:
    return seen.p50


def p99(seen: Round) -> float:
    return seen.p99


def per_second(value: float) -> str:
    return f"{value:,.0f}/s"


def milliseconds(value: float) -> str:
    return f"{value * 1e3:.2f} ms"


def ratio(
    name: str,
    measured: list[Pair],
    figure: Callable[[Round], float],
    shown: Callable[[float], str],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    unit: str = "x yardstick",
) -> Row:
    """The median over all pairs of how the second round's figure compares with the first's."""
    bases, others = [figure(pair.base) for pair in measured], [figure(pair.other) for pair in measured]
    ratios = [other / base for base, other in zip(bases, others, strict=True)]
    medians = f"{shown(statistics.median(others))} to {shown(statistics.median(bases))}"
    detail = f"{medians}; rounds {min(ratios):.2f} to {max(ratios):.2f}"
    return Row(name, statistics.median(ratios), unit, at_least, at_most, detail)


def cpu(name: str, measured: list[Pair]) -> Row:
    """The medians of the site's processor time for an answer, compared."""
    base, other = (statistics.median(values) for values in zip(*((p.base_cpu, p.cpu) for p in measured), strict=True))
    return Row(name, other / base, "x yardstick", detail=f"{milliseconds(other)} to {milliseconds(base)}")
