"""Asking agents in the order in which a rule prefers them: where one is not there, the next one.

Only where nothing can have been done twice: an agent that took too long, had begun to answer or had taken steps may
have acted.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

from common.errors import (
    AgentFailed,
    AgentSwitchedOff,
    AgentUnreachable,
    FixieError,
    ModelUnavailable,
    NotFound,
    QuotaExceeded,
    RateLimited,
)
from registry.transports.base import AgentMessage
from sessions_app.runner.children import could_not_answer
from sessions_app.runner.context import RunContext, Step

# What a question comes to where there is nobody to answer it, rather than that an agent answers with its failure.
_NOT_THERE = frozenset(
    kind.code
    for kind in (
        AgentSwitchedOff,
        AgentUnreachable,
        ModelUnavailable,
        NotFound,
        QuotaExceeded,
        RateLimited,
    )
)


async def ask_in_turn(
    ctx: RunContext, agents: Sequence[str], text: str, *, on_text: Callable[[str], None] | None = None
) -> AgentMessage:
    """The answer of the first of `agents` that is there to give one.

    Whoever has begun is not passed over. That one is, is a thought of the run. Raises as `ctx.ask_agent`.
    """
    for agent, following in pairwise(agents):
        listener = _Listener(on_text)
        try:
            return await ctx.ask_agent(agent, text, on_text=listener)
        except FixieError as error:
            if listener.has_heard or not _is_away(error):
                raise
            words = " ".join(error.message.split())
            await ctx.append("thought", f"{_passing_over(agent)}{words} I ask {following} instead.")
    return await ctx.ask_agent(agents[-1], text, on_text=on_text)


def is_passing_over(step: Step, agent: str, *, was_asked: bool) -> bool:
    """Whether this step says that the next agent was asked instead of `agent`, which failed or was never asked."""
    start = _passing_over(agent)
    if step.kind != "thought" or not step.text.startswith(start):
        return False
    return step.text.startswith(could_not_answer(agent), len(start)) == was_asked


def _passing_over(agent: str) -> str:
    return f"Thought: {agent} is passed over: "


def _is_away(error: FixieError) -> bool:
    if not isinstance(error, AgentFailed):
        return error.code in _NOT_THERE
    # Of a run that was opened.
    return error.details.get("reason") in _NOT_THERE and not error.details.get("has_acted")


class _Listener:
    """Hands on what an agent writes, and knows whether there was any."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self.has_heard = False
        self._on_text = on_text

    def __call__(self, text: str) -> None:
        self.has_heard = True
        if self._on_text is not None:
            self._on_text(text)
