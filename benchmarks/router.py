"""How well the Router finds the right agent: BANKING77, an agent for each of its 77 intents; and how long it takes."""

import asyncio
import csv
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.people import new_user
from benchmarks.report import Row
from benchmarks.samples import Samples, put, remove
from common.db import close_pool
from registry.routing import ranking, router
from registry.routing.embedder import Embedder, embed_query, embedder, in_use
from registry.routing.index import NEAREST
from registry.routing.ranking import Candidate, Ranked
from registry.routing.vectors import Vectors

DATA = Path(__file__).parents[2] / "shared/data/banking77"
MOST_MILLISECONDS = 5.0
COVERAGES = (1.0, 0.9, 0.8, 0.7, 0.5)


@dataclass(frozen=True, slots=True)
class Setting:
    """`shots` samples an agent (None: all there are), drawn `draws` times; `is_named`: its name is one more sample."""

    name: str
    shots: int | None
    draws: int
    at_least: float | None = None
    is_named: bool = True


# An agent is registered with its name, which the Router's index has as a sample (`registry/routing/samples.py`).
# The published reference points (README) know of no names.
SETTINGS = (
    Setting("all training rows", None, 1, 93.5),
    Setting("10 samples", 10, 10, 86.0),
    Setting("3 samples", 3, 5, 76.0),
    Setting("10 samples, agents without names", 10, 3, is_named=False),
    Setting("3 samples, agents without names", 3, 3, is_named=False),
)


@dataclass(frozen=True, slots=True)
class Queries:
    texts: list[str]
    categories: list[str]
    vectors: Vectors

    def at(self, places: list[int]) -> "Queries":
        texts, categories = [self.texts[i] for i in places], [self.categories[i] for i in places]
        return Queries(texts, categories, self.vectors[places])

    def __add__(self, other: "Queries") -> "Queries":
        vectors = np.concatenate([self.vectors, other.vectors])
        return Queries(self.texts + other.texts, self.categories + other.categories, vectors)


def measure(*, quick: bool) -> list[Row]:
    if not DATA.exists():
        return [Row("Router: skipped, for there is no shared/data/banking77", 0.0, "")]
    samples, names, asked = asyncio.run(_embedded(5 if quick else 1))
    rows = [row for setting in SETTINGS for row in _rows(setting, samples, names, asked, quick=quick)]
    return [*rows, *_through_the_index(samples + names, asked, quick=quick)]


async def _embedded(every: int) -> tuple[Queries, Queries, Queries]:
    """The training rows, the agents' names, and every so many of the test rows."""
    model = await embedder()
    samples, asked = await _read(model, "train.csv", 1), await _read(model, "test.csv", every)
    categories = sorted(set(samples.categories))
    names = [category.replace("_", " ") for category in categories]
    return samples, Queries(names, categories, await model.embed(names)), asked


async def _read(model: Embedder, name: str, every: int) -> Queries:
    with (DATA / name).open(newline="") as file:
        rows = list(csv.DictReader(file))[::every]
    texts = [row["text"] for row in rows]
    return Queries(texts, [row["category"] for row in rows], await model.embed(texts))


def _rows(setting: Setting, samples: Queries, names: Queries, asked: Queries, *, quick: bool) -> list[Row]:
    draws = 1 if quick else setting.draws
    registered = [_draw(samples, setting.shots, seed) for seed in range(draws)]
    answers = [_Answers(drawn + names if setting.is_named else drawn, asked) for drawn in registered]
    firsts = [answer.share_within(1) for answer in answers]
    curve = ", ".join(
        f"{_mean([a.right_of(part) for a in answers]):.1f} % of the surest {part:.0%}" for part in COVERAGES
    )
    spread = f"{draws} draws {min(firsts):.1f} to {max(firsts):.1f}" if draws > 1 else ""
    bound = None if quick else setting.at_least
    speed = statistics.median(seconds for answer in answers for seconds in answer.seconds) * 1000
    return [
        Row(f"BANKING77, {setting.name}: right agent first", _mean(firsts), "%", at_least=bound, detail=spread),
        Row("  among the first three", _mean([answer.share_within(3) for answer in answers]), "%"),
        Row(
            "  answered, and not abstained",
            _mean([answer.answered() for answer in answers]),
            "%",
            detail=f"right: {curve}",
        ),
        Row("  ranking one query, p50", speed, "ms"),
    ]


def _through_the_index(samples: Queries, asked: Queries, *, quick: bool) -> list[Row]:
    """All training rows once more, as a site has them: in PostgreSQL, through `router.route`."""
    agents = put(Samples(samples.texts, samples.categories, samples.vectors), owner=new_user(), embedder=in_use())
    try:
        right, seconds = asyncio.run(_routed(asked))
    finally:
        remove(agents)
    bound = None if quick else SETTINGS[0].at_least
    added = statistics.median(seconds) * 1000
    return [
        Row("BANKING77 through PostgreSQL: right agent first", 100 * _mean(right), "%", at_least=bound),
        Row("  what routing adds to embedding, p50", added, "ms", at_most=MOST_MILLISECONDS),
    ]


async def _routed(asked: Queries) -> tuple[list[bool], list[float]]:
    """Whether each query found its agent, and the seconds that it took after it was embedded."""
    right, seconds = [], []
    for text, category in zip(asked.texts, asked.categories, strict=True):
        await embed_query(text)  # which `route` then remembers
        began = time.perf_counter()
        route = await router.route(text, user=None)
        seconds.append(time.perf_counter() - began)
        right.append(route.candidates[0].name == category)
    await close_pool()
    return right, seconds


def _mean(values: Sequence[float]) -> float:
    return statistics.fmean(values)


def _draw(samples: Queries, shots: int | None, seed: int) -> Queries:
    """`shots` samples of each category, the same ones for the same seed."""
    chosen: defaultdict[str, list[int]] = defaultdict(list)
    for place in np.random.default_rng(seed).permutation(len(samples.texts)).tolist():
        if shots is None or len(chosen[samples.categories[place]]) < shots:
            chosen[samples.categories[place]].append(place)
    return samples.at([place for places in chosen.values() for place in places])


class _Answers:
    """What the Router says to every query, with these samples registered."""

    def __init__(self, samples: Queries, asked: Queries) -> None:
        self._agents = _agents(samples)
        self.seconds: list[float] = []
        ranked = [self._rank(vector, text) for vector, text in zip(asked.vectors, asked.texts, strict=True)]
        order = [[agent.agent for agent in agents] for agents in ranked]
        self._ranks = [
            agents.index(category) if category in agents else len(agents)
            for agents, category in zip(order, asked.categories, strict=True)
        ]
        self._scores = [agents[0].score for agents in ranked]
        self._abstained = [ranking.abstains(agents) for agents in ranked]

    def share_within(self, first: int) -> float:
        """Per cent of the queries whose agent is among the `first`."""
        return _mean([100.0 * (rank < first) for rank in self._ranks])

    def right_of(self, part: float) -> float:
        """Per cent right of the given part of the queries, those with the highest scores."""
        surest = np.argsort(self._scores)[::-1][: round(part * len(self._scores))]
        return _mean([100.0 * (self._ranks[place] == 0) for place in surest])

    def answered(self) -> float:
        return 100.0 - _mean([100.0 * abstained for abstained in self._abstained])

    def _rank(self, vector: Vectors, text: str) -> list[Ranked]:
        candidates = self._found(vector)
        began = time.perf_counter()
        ranked = ranking.rank(vector, text, candidates)
        self.seconds.append(time.perf_counter() - began)
        return ranked

    def _found(self, vector: Vectors) -> list[Candidate]:
        """What the index gives: the agents of the nearest samples, each with its own nearest ones."""
        near = [(agent, agent.vectors @ vector) for agent in self._agents]
        everything = np.concatenate([similarities for _, similarities in near])
        least = np.partition(everything, -NEAREST)[-NEAREST]
        return [_cut(agent, similarities) for agent, similarities in near if similarities.max() >= least]


def _agents(samples: Queries) -> list[Candidate]:
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, category in enumerate(samples.categories):
        places[category].append(place)
    groups = {category: samples.at(group) for category, group in places.items()}
    return [Candidate(category, group.texts, group.vectors) for category, group in groups.items()]


def _cut(agent: Candidate, similarities: Vectors) -> Candidate:
    nearest = np.argsort(-similarities)[: ranking.SAMPLES]
    return Candidate(agent.agent, [agent.texts[place] for place in nearest], agent.vectors[nearest])
