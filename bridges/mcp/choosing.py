"""Which agents a task is for."""

from bridges.mcp.agents import agent_named
from bridges.mcp.arguments import Delegation
from bridges.mcp.exchange import Exchange
from common.errors import NotFound, Unavailable
from registry.routing.limits import turn_of
from registry.routing.router import Route, route

NEAREST_NAMED = 3


async def agents_for(task: Delegation, exchange: Exchange) -> list[str]:
    """The ids of the agents that come into question, the preferred one first; never none.

    The one that the task names; else those of the first rule that matches, else with the capability, which stand in
    for one another; else the one that the Router finds. Raises NotFound or Unavailable where nobody fits, RateLimited.
    """
    if task.agent_id is not None:
        return [await agent_named(exchange.caller, exchange.user, task.agent_id)]
    user = exchange.user.pk
    async with turn_of(user):
        found = await route(task.prompt, user=user, task_type=task.task_type)
    if found.preferred:
        return found.preferred
    if found.candidates and not found.abstain:
        return [found.candidates[0].agent]
    raise _nobody(found)


def _nobody(found: Route) -> NotFound | Unavailable:
    if found.passed_over:
        reasons = "; ".join(f"{one.agent} {one.reason}" for one in found.passed_over)
        return Unavailable(f"No agent for this can be asked now: {reasons}.", field="agent_id")
    nearest = [candidate.agent for candidate in found.candidates[:NEAREST_NAMED]]
    if not nearest:
        return NotFound("There is no agent for this that you can ask.", field="agent_id", nearest=nearest)
    words = f"No agent fits this well enough. The nearest are {', '.join(nearest)}: name one as agent_id."
    return NotFound(words, field="agent_id", nearest=nearest)
