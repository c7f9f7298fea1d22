"""Routing over GraphQL: which agents a query is for, and why."""

from typing import Annotated

import strawberry

from accounts.graphql import Context, Info
from common.db import run_db
from common.errors import InvalidRequest
from common.texts import clean_text
from registry.fields import NAME_MAX, check_text
from registry.routing import router
from registry.routing.limits import K_MAX, turn_of


@strawberry.type(description="An agent that comes into question for a query.")
class RouteCandidate:
    agent: str = strawberry.field(description="owner/handle")
    name: str
    score: float = strawberry.field(description="The chance that it is the right one; 1 where a rule chose it.")
    matched_query: str = strawberry.field(description="Its sample query that is nearest.")
    similarity: float = strawberry.field(description="The cosine of the two.")


@strawberry.type(description="An agent that a rule prefers and that cannot be asked now.")
class RoutePassedOver:
    agent: str = strawberry.field(description="owner/handle")
    reason: str = strawberry.field(description="The end of a sentence that begins with the agent.")


@strawberry.type(description="Which agents a query is for, the best first.")
class Route:
    candidates: list[RouteCandidate]
    abstain: bool = strawberry.field(description="None of them is good enough.")
    close: bool = strawberry.field(description="The first two are near each other.")
    rule: str | None = strawberry.field(description="The rule that chose the first ones.")
    preferred: list[str] = strawberry.field(description="All agents of that rule that can be asked now, in its order.")
    passed_over: list[RoutePassedOver]
    embedder: str = strawberry.field(description="Whose similarities these are.")


Number = Annotated[int, strawberry.argument(description=f"How many candidates at most: 1 to {K_MAX}.")]
TaskType = Annotated[str, strawberry.argument(description="For the rules that ask for one.")]


@strawberry.type
class Query:
    @strawberry.field(description="Asks no agent anything; it only says which ones would come into question.")
    async def route(self, info: Info, text: str, k: Number = 5, task_type: TaskType = "") -> Route:
        if not 1 <= k <= K_MAX:
            raise InvalidRequest(f"k must be from 1 to {K_MAX}.", field="k")
        clean_text(text)
        check_text(task_type, field="taskType", limit=NAME_MAX)
        user = await run_db(_user, info.context)
        async with turn_of(user):
            return _route(await router.route(text, user=user, k=k, task_type=task_type))


def _user(context: Context) -> int:
    return context.user().pk


def _route(found: router.Route) -> Route:
    candidates = [
        RouteCandidate(
            agent=candidate.agent,
            name=candidate.name,
            score=candidate.score,
            matched_query=candidate.matched_query,
            similarity=candidate.similarity,
        )
        for candidate in found.candidates
    ]
    return Route(
        candidates=candidates,
        abstain=found.abstain,
        close=found.is_close,
        rule=found.rule,
        preferred=found.preferred,
        passed_over=[RoutePassedOver(agent=one.agent, reason=one.reason) for one in found.passed_over],
        embedder=found.embedder,
    )
