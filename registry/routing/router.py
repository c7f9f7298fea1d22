"""Which agent a query is for: rules first, then the sample queries that are nearest."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from common.db import run_db_safely
from common.errors import InvalidRequest, ModelUnavailable
from registry.models import RoutingRule, SampleIndex
from registry.routing.embedder import embed_query, embedder, embedder_named
from registry.routing.index import Indexed, nearest
from registry.routing.ranking import Ranked, abstains, calibration, is_close, rank
from registry.routing.rules import Rule, matching
from registry.routing.vectors import DIMENSIONS, Vectors

# Every process notices a changed rule, and a new embedder, within so many seconds.
CACHE_SECONDS = 2.0
_NOWHERE = np.zeros(DIMENSIONS, np.float32)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An agent (`owner/handle`) that comes into question.

    `score` is the chance that it is the right one, or 1.0 where a rule chose it. `matched_query` is its sample nearest
    the query and `similarity` the cosine of the two; empty and 0.0 for the choice of a rule that has no samples.
    """

    agent: str
    name: str
    score: float
    matched_query: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Route:
    """The best candidates first.

    `abstain`: none is good enough. `is_close`: the first two are so near that a person should choose. Neither is so
    where a rule chose the first; `rule` says which. `embedder` is the one that the similarities are of.
    """

    candidates: list[Candidate]
    abstain: bool
    is_close: bool
    rule: str | None
    embedder: str


async def route(
    text: str, *, user: int | None, k: int = 5, task_type: str = "", exclude: Collection[str] = ()
) -> Route:
    """The `k` best agents for the query `text`, at most `ranking.AGENTS`, of those that the user may ask.

    `user` is an id; None is anybody. Agents in `exclude` (`owner/handle`) are passed over. One statement, beside what
    is remembered for CACHE_SECONDS. Raises InvalidRequest for an empty text; ModelUnavailable where the embedder
    fails, unless a rule decides, which then offers its agent alone.
    """
    if not text.strip():
        raise InvalidRequest("The text is empty.", field="text")
    known = await _known()
    rule = matching(known.rules, text, task_type)
    preferred = rule.agents if rule else ()
    by = await embedder_named(known.serving) or await embedder()
    try:
        vector = await embed_query(text, by)
    except ModelUnavailable:
        chosen = _first(preferred, await nearest(_NOWHERE, user=user, wanted=preferred, excluded=exclude))
        if rule is None or chosen is None:
            raise
        return Route([_ruled(chosen, _NOWHERE)], abstain=False, is_close=False, rule=rule.name, embedder=by.name)
    found = await nearest(vector, user=user, wanted=preferred, excluded=exclude)
    ranked = rank(vector, text, found, calibration(by.name))
    candidates = _named(ranked, found)
    chosen = _first(preferred, found)
    if rule is None or chosen is None:
        return Route(candidates[:k], abstains(ranked), is_close(ranked), rule=None, embedder=by.name)
    others = [candidate for candidate in candidates if candidate.agent != chosen.agent]
    leading = [_ruled(chosen, vector), *others]
    return Route(leading[:k], abstain=False, is_close=False, rule=rule.name, embedder=by.name)


def _first(preferred: Sequence[int], found: Sequence[Indexed]) -> Indexed | None:
    return next((agent for pk in preferred for agent in found if agent.id == pk), None)


def _ruled(agent: Indexed, vector: Vectors) -> Candidate:
    if not agent.texts:
        return Candidate(agent.agent, agent.name, 1.0, "", 0.0)
    return Candidate(agent.agent, agent.name, 1.0, agent.texts[0], float(agent.vectors[0] @ vector))


def _named(ranked: Sequence[Ranked], found: Sequence[Indexed]) -> list[Candidate]:
    names = {agent.agent: agent.name for agent in found}
    return [Candidate(r.agent, names[r.agent], r.score, r.matched_query, r.similarity) for r in ranked]


@dataclass(frozen=True, slots=True)
class _Known:
    """What routing needs and seldom changes. `serving` is empty where nothing is indexed yet."""

    rules: tuple[Rule, ...]
    serving: str


_cached: tuple[float, _Known] | None = None


async def _known() -> _Known:
    global _cached
    if _cached is None or time.monotonic() > _cached[0]:
        _cached = time.monotonic() + CACHE_SECONDS, await run_db_safely(_load)
    return _cached[1]


def forget_rules() -> None:
    """Makes this process see a change of the rules at once."""
    global _cached
    _cached = None


def _load() -> _Known:
    rules = RoutingRule.objects.filter(enabled=True).prefetch_related("preferences")
    serving = SampleIndex.objects.values_list("serving", flat=True).first()
    return _Known(tuple(_rule(rule) for rule in rules), serving or "")


def _rule(rule: RoutingRule) -> Rule:
    agents = tuple(preference.agent_id for preference in rule.preferences.all())
    return Rule(str(rule), rule.task_type, tuple(rule.keywords), agents)
