"""Which agent a query is for: rules first, then the sample queries that are nearest."""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from common.db import run_db_safely
from common.errors import InvalidRequest, ModelUnavailable
from registry.models import RoutingRule, SampleIndex
from registry.routing.embedder import embed_query, embedder, embedder_named
from registry.routing.index import Indexed, nearest
from registry.routing.ranking import Ranked, abstains, calibration, is_close, rank
from registry.routing.rules import Rule, folded, matching
from registry.routing.standing import capable_of, standings
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
class PassedOver:
    """An agent (`owner/handle`) that a rule prefers, and why it cannot be asked now, as the end of a sentence."""

    agent: str
    reason: str


@dataclass(frozen=True, slots=True)
class Route:
    """The best candidates first.

    `abstain`: none is good enough. `is_close`: the first two are so near that a person should choose. Neither is so
    where a rule chose; `rule` says which. `embedder` is the one that the similarities are of.

    `preferred` are all agents of that rule that can be asked now, in its order: the candidates begin with them, and
    where one turns out not to be there the next is to be asked. `passed_over` are agents of it, and of rules ahead of
    it, that cannot be.
    """

    candidates: list[Candidate]
    abstain: bool
    is_close: bool
    rule: str | None
    embedder: str
    preferred: list[str] = field(default_factory=list)
    passed_over: list[PassedOver] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Choice:
    """What the rules say: the ids of agents that can be asked, the first choice first; none where no rule has any."""

    rule: str = ""
    agents: tuple[int, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()


async def route(
    text: str, *, user: int | None, k: int = 5, task_type: str = "", exclude: Collection[str] = ()
) -> Route:
    """The `k` best agents for the query `text`, at most `ranking.AGENTS`, of those that the user may ask.

    `user` is an id; None is anybody. Agents in `exclude` (`owner/handle`) are passed over.

    Of the rules that match, the first that has an agent to ask decides; after them, agents that say that they take
    tasks of this `task_type`, by their priority; then similarity. One statement, one more where rules match and one for
    a task type, beside what is remembered for CACHE_SECONDS. Raises InvalidRequest for an empty text; ModelUnavailable
    where the embedder fails, unless a rule decides, which then offers its agents alone.
    """
    if not text.strip():
        raise InvalidRequest("The text is empty.", field="text")
    known = await _known()
    choice = await _choice(await _rules_for(known.rules, text, task_type, user), user, exclude)
    # Who cannot be asked now is not to be found by similarity either.
    exclude = (*exclude, *(one.agent for one in choice.passed_over))
    by = await embedder_named(known.serving) or await embedder()
    try:
        vector = await embed_query(text, by)
    except ModelUnavailable:
        found = await nearest(_NOWHERE, user=user, wanted=choice.agents, excluded=exclude) if choice.agents else []
        chosen = _chosen(choice, found)
        if not chosen:
            raise
        return _by_rule(choice, [_ruled(agent, _NOWHERE) for agent in chosen], [], k, by.name)
    found = await nearest(vector, user=user, wanted=choice.agents, excluded=exclude)
    ranked = rank(vector, text, found, calibration(by.name))
    candidates = _named(ranked, found)
    if chosen := _chosen(choice, found):
        return _by_rule(choice, [_ruled(agent, vector) for agent in chosen], candidates, k, by.name)
    passed_over = list(choice.passed_over)
    return Route(candidates[:k], abstains(ranked), is_close(ranked), None, by.name, passed_over=passed_over)


async def _rules_for(rules: Sequence[Rule], text: str, task_type: str, user: int | None) -> list[Rule]:
    """The rules that match, and last, as one more, the agents that say that they take such tasks."""
    found = matching(rules, text, task_type)
    if task_type and (capable := await capable_of(task_type, user=user)):
        found.append(Rule(f"agents for {task_type}", task_type, (), capable))
    return found


async def _choice(rules: Sequence[Rule], user: int | None, exclude: Collection[str]) -> _Choice:
    """The agents of the first rule that has one to ask."""
    known = await standings({agent for rule in rules for agent in rule.agents}, user=user, excluded=exclude)
    passed_over: dict[str, PassedOver] = {}
    for rule in rules:
        preferred = [known[agent] for agent in rule.agents if agent in known]
        passed_over |= {one.agent: PassedOver(one.agent, one.obstacle) for one in preferred if one.obstacle}
        if free := tuple(one.id for one in preferred if not one.obstacle):
            return _Choice(rule.name, free, tuple(passed_over.values()))
    return _Choice(passed_over=tuple(passed_over.values()))


def _chosen(choice: _Choice, found: Sequence[Indexed]) -> list[Indexed]:
    """The chosen agents, but for any that cannot be asked any more."""
    by_id = {agent.id: agent for agent in found}
    return [by_id[agent] for agent in choice.agents if agent in by_id]


def _by_rule(choice: _Choice, chosen: list[Candidate], others: list[Candidate], k: int, embedder: str) -> Route:
    preferred = [candidate.agent for candidate in chosen]
    leading = [*chosen, *(other for other in others if other.agent not in preferred)]
    passed_over = list(choice.passed_over)
    return Route(leading[:k], False, False, choice.rule, embedder, preferred, passed_over)


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
    return Rule(str(rule), rule.task_type, tuple(map(folded, rule.keywords)), agents)
