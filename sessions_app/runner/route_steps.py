"""How the Fixie agent stores which agents came into question for a request: a Func call and what the Func said. Pure.

`Func[fixie_route] says:` is followed by a line for each agent, the best first: `0.93 fixie/dice: Roll two dice` has
its score and its sample query that is nearest the request. A sentence before them says what they do not. Where a rule
chose, the agents that it prefers come first, in its order, and another sentence stands before those that it does not.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from common.handles import AGENT_ID
from registry.routing.router import Route
from sessions_app.llm.format import Kind, marker, read_step
from sessions_app.runner.context import Step

ROUTE = "fixie_route"
# Sample queries may be long; the beginning is enough to recognise one.
QUERY_MAX = 150

NO_AGENTS = "There are no agents to ask."
NONE_FITS = "No agent fits this well enough. The nearest are:"
CLOSE = "Two agents are near:"
RULED = "A rule chose"
PASSED_OVER = "Passed over:"
NEAR_TOO = "Also near, by their sample queries:"
_CANDIDATE = re.compile(rf"(?P<score>\d\.\d\d) (?P<agent>{AGENT_ID.pattern}): ?(?P<query>.*)")


class Verdict(Enum):
    """What comes of a decision: the first agent is asked, the user chooses between two, or nobody is asked."""

    ASK = "ask"
    CHOOSE = "choose"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Near:
    """An agent (`owner/handle`) that came into question."""

    agent: str
    score: float
    matched_query: str


@dataclass(frozen=True, slots=True)
class Decision:
    """Who is to answer `text`; the best agents first, none where there are no agents at all.

    The first `preferred` of them are those that a rule prefers.
    """

    text: str
    verdict: Verdict
    near: tuple[Near, ...]
    preferred: int = 0

    @property
    def in_turn(self) -> list[str]:
        """Whom to ask, each where those before are not there."""
        return [near.agent for near in self.near[: self.preferred or 1]]


def decided(text: str, route: Route) -> Decision:
    near = tuple(Near(one.agent, one.score, _in_one_line(one.matched_query)) for one in route.candidates)
    if route.abstain or not near:
        return Decision(text, Verdict.NOBODY, near)
    preferred = min(len(route.preferred), len(near))
    return Decision(text, Verdict.CHOOSE if route.is_close else Verdict.ASK, near, preferred)


def steps_of(text: str, route: Route) -> list[tuple[str, str]]:
    """The two steps, each as (kind, text), that say how `text` was routed."""
    decision = decided(text, route)
    near = [f"{one.score:.2f} {one.agent}: {one.matched_query}" for one in decision.near]
    if 0 < decision.preferred < len(near):
        near.insert(decision.preferred, NEAR_TOO)
    output = "\n".join([*_heading(route), *near])
    return [
        ("func_call", f"{marker(Kind.ASK_FUNC, ROUTE)} {text}"),
        ("func_output", f"{marker(Kind.FUNC_SAYS, ROUTE)} {output}"),
    ]


def leading_decisions(steps: Sequence[Step]) -> list[Decision]:
    """The decisions that a run's steps begin with."""
    found: list[Decision] = []
    for pair in zip(steps[::2], steps[1::2], strict=False):
        if (decision := _read(*pair)) is None:
            break
        found.append(decision)
    return found


def decisions_in(steps: Sequence[Step]) -> list[Decision]:
    """All decisions among a run's steps."""
    return [decision for pair in pairwise(steps) if (decision := _read(*pair)) is not None]


def _read(call: Step, output: Step) -> Decision | None:
    asked, said = read_step(call.text), read_step(output.text)
    if (asked.kind, said.kind) != (Kind.ASK_FUNC, Kind.FUNC_SAYS) or not asked.name == said.name == ROUTE:
        return None
    chosen, _, others = said.text.partition(f"\n{NEAR_TOO}\n")
    preferred = _candidates(chosen)
    near = preferred + _candidates(others)
    if not near or said.text.startswith(NONE_FITS):
        return Decision(asked.text, Verdict.NOBODY, near)
    verdict = Verdict.CHOOSE if said.text.startswith(CLOSE) else Verdict.ASK
    return Decision(asked.text, verdict, near, len(preferred) if said.text.startswith(RULED) else 0)


def _candidates(lines: str) -> tuple[Near, ...]:
    found = [match for line in lines.splitlines() if (match := _CANDIDATE.fullmatch(line))]
    return tuple(Near(match["agent"], float(match["score"]), match["query"]) for match in found)


def _heading(route: Route) -> list[str]:
    passed_over = "; ".join(f"{one.agent} {one.reason}" for one in route.passed_over)
    return [*_verdict(route), *([f"{PASSED_OVER} {passed_over}."] if passed_over else [])]


def _verdict(route: Route) -> list[str]:
    if not route.candidates:
        return [NO_AGENTS]
    if route.rule is not None:
        return [f"{RULED} ({_in_one_line(route.rule)}):"]
    if route.abstain:
        return [NONE_FITS]
    return [CLOSE] if route.is_close else []


def _in_one_line(text: str) -> str:
    return " ".join(text.split())[:QUERY_MAX]
