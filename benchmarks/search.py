"""The Router's search: 100,000 samples of 10,000 agents, against an exact product over the same vectors."""

import asyncio
import statistics
import time
from dataclasses import dataclass

import numpy as np

from benchmarks.people import key_of, new_user
from benchmarks.report import Row
from benchmarks.samples import Samples, put, remove
from benchmarks.server import serving
from common.db import close_pool
from registry.routing.embedder import in_use
from registry.routing.index import nearest
from registry.routing.ranking import AGENTS
from registry.routing.vectors import DIMENSIONS, Vectors, unit

OWNED, SAMPLES = 10_000, 10
# Agents have subjects, and lie about as far from others of theirs (a cosine of 0.5) as real ones do.
SUBJECTS = 300
AGENT_SPREAD, SAMPLE_SPREAD = 1.0, 0.8
MOST_TIMES, LEAST_RECALL = 2.5, 97.0
MOST_MB = 350
WARM_UP = 20
ASKED_OVER_HTTP = 50


@dataclass(frozen=True, slots=True)
class Searched:
    """Seconds of each search, and the share of the right agents that it found."""

    exact: list[float]
    indexed: list[float]
    recalls: list[float]


def measure(*, quick: bool) -> list[Row]:
    random = np.random.default_rng(1)
    agents = OWNED // 10 if quick else OWNED
    centres = _centres(random, agents)
    whose = np.repeat(np.arange(agents), SAMPLES)
    vectors = _near(random, centres[whose])
    queries = _near(random, centres[random.integers(agents, size=100 if quick else 300)])
    owner = new_user()
    names = [f"agent {number}" for number in whose.tolist()]
    texts = [f"sample {number}" for number in range(len(whose))]
    put_agents = put(Samples(texts, names, vectors), owner=owner, embedder=in_use())
    try:
        pks = np.array([agent.pk for agent in put_agents.values()])
        found = asyncio.run(_search(vectors, pks[whose], queries))
        return [*_rows(found, len(whose), quick=quick), _memory(key_of(owner))]
    finally:
        remove(put_agents)


def _centres(random: np.random.Generator, agents: int) -> Vectors:
    subjects = _noise(random, SUBJECTS)
    return unit(subjects[random.integers(SUBJECTS, size=agents)] + AGENT_SPREAD * _noise(random, agents))


def _near(random: np.random.Generator, places: Vectors) -> Vectors:
    return unit(places + SAMPLE_SPREAD * _noise(random, len(places)))


def _noise(random: np.random.Generator, rows: int) -> Vectors:
    return unit(random.standard_normal((rows, DIMENSIONS), np.float32))


async def _search(vectors: Vectors, whose: np.ndarray, queries: Vectors) -> Searched:
    found = Searched([], [], [])
    for query in queries[:WARM_UP]:
        await nearest(query, user=None)
    for query in queries:
        began = time.perf_counter()
        similarities = vectors @ query
        found.exact.append(time.perf_counter() - began)
        began = time.perf_counter()
        candidates = await nearest(query, user=None)
        found.indexed.append(time.perf_counter() - began)
        right = list(dict.fromkeys(whose[np.argsort(-similarities)].tolist()))[:AGENTS]
        found.recalls.append(len(set(right) & {candidate.id for candidate in candidates}) / AGENTS)
    await close_pool()
    return found


def _rows(found: Searched, samples: int, *, quick: bool) -> list[Row]:
    """Without bounds for a glance at fewer samples, which a product is done with in no time."""
    exact, indexed = (statistics.median(seconds) * 1000 for seconds in (found.exact, found.indexed))
    return [
        Row(
            f"search in {samples:,} samples, p50",
            indexed / exact,
            "times",
            at_most=None if quick else MOST_TIMES,
            detail=f"{indexed:.1f} ms, and {exact:.1f} ms of an exact product on one core",
        ),
        Row(
            f"  of the {AGENTS} nearest agents",
            100 * statistics.fmean(found.recalls),
            "%",
            at_least=None if quick else LEAST_RECALL,
        ),
    ]


def _memory(key: str) -> Row:
    """Of a process that has routed some queries there."""
    with serving(WORKER_IN_PROCESS="0") as server, server.client(key) as http:
        for number in range(ASKED_OVER_HTTP):
            http.post("/api/route", json={"text": f"Which agent can do task {number} for me?"}).raise_for_status()
        return Row("  memory of a process that routes", server.memory() / 1e6, "MB", at_most=MOST_MB)
