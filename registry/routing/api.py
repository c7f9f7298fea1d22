"""Routing over REST: which agents a query is for, and why, without asking any of them."""

from typing import Self

from ninja import Field, Router, Schema
from pydantic import ConfigDict

from accounts.auth import Acting, Caller, PrincipalAuth, user_at_work
from common.texts import clean_text
from registry.fields import NAME_MAX, check_text
from registry.routing.limits import K_MAX, turn_of
from registry.routing.router import Candidate, Route, route

route_router = Router()


class RouteIn(Schema):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(description="The query, as it would be posted.")
    k: int = Field(5, ge=1, le=K_MAX, description="How many candidates at most; there are never more than 8.")
    task_type: str = Field("", description="For the rules that ask for one.")


class CandidateOut(Schema):
    """`score` is the chance that it is the right agent; `similarity` is the cosine of `matched_query` and the text."""

    agent: str
    name: str
    score: float
    matched_query: str
    similarity: float


class PassedOverOut(Schema):
    """An agent that a rule prefers and that cannot be asked now: `{agent} {reason}` is a sentence."""

    agent: str
    reason: str


class RouteOut(Schema):
    """`abstain`: none is good enough. `close`: the first two are near each other. `rule` is what chose the first ones.

    `preferred` are all agents of that rule that can be asked now, in its order.
    """

    candidates: list[CandidateOut]
    abstain: bool
    close: bool
    rule: str | None
    preferred: list[str]
    passed_over: list[PassedOverOut]
    embedder: str

    @classmethod
    def of(cls, found: Route) -> Self:
        return cls(
            candidates=[_candidate(candidate) for candidate in found.candidates],
            abstain=found.abstain,
            close=found.is_close,
            rule=found.rule,
            preferred=found.preferred,
            passed_over=[PassedOverOut(agent=one.agent, reason=one.reason) for one in found.passed_over],
            embedder=found.embedder,
        )


def _candidate(candidate: Candidate) -> CandidateOut:
    return CandidateOut(
        agent=candidate.agent,
        name=candidate.name,
        score=candidate.score,
        matched_query=candidate.matched_query,
        similarity=candidate.similarity,
    )


@route_router.post("", response=RouteOut, auth=PrincipalAuth(), summary="Route a query")
async def find_route(request: Acting, payload: RouteIn) -> RouteOut:
    """The agents that a query is for, the best first, of those that the caller may ask. Nobody is asked anything.

    An agent with the token of a call is offered published ones alone: others are no business of a stranger's agent.
    """
    user = await user_at_work(request.auth)
    whose = user.pk if isinstance(request.auth, Caller) else None
    text = clean_text(payload.text)
    task_type = check_text(payload.task_type, field="task_type", limit=NAME_MAX)
    async with turn_of(user.pk):
        return RouteOut.of(await route(text, user=whose, k=payload.k, task_type=task_type))
