"""The agents that a caller may ask, and their names as tools."""

from dataclasses import asdict

from django.db.models import Q

from accounts.auth import Caller
from accounts.models import User
from bridges.mcp.outputs import AgentPage, AskableAgent, Availability
from common.errors import InvalidRequest
from common.handles import HANDLE, SITE_OWNER, split_agent_name
from registry.limits import remaining_of
from registry.liveness.health import health_of
from registry.lookup import find_agent
from registry.models import Agent, AgentQuerySet, Revision
from registry.specs import queries_of

SEPARATOR = "__"
# Clients hand the names of tools to language models, which take no longer ones.
TOOL_NAME_MAX = 64
SAMPLES_SHOWN = 5


def tool_name(agent: Agent) -> str | None:
    """`owner__handle`; None where that is too long, or would name another agent too."""
    name = f"{agent.owner.handle}{SEPARATOR}{agent.handle}"
    return name if len(name) <= TOOL_NAME_MAX and agent_of_tool(name) == (agent.owner.handle, agent.handle) else None


def agent_of_tool(name: str) -> tuple[str, str] | None:
    """The owner and the handle in the name of a tool; None where there are none.

    Where a name can be read in two ways, the owner is the shorter one.
    """
    places = [place for place in range(len(name)) if name.startswith(SEPARATOR, place)]
    parts = [(name[:place], name[place + len(SEPARATOR) :]) for place in places]
    return next((each for each in parts if all(HANDLE.fullmatch(part) for part in each)), None)


async def agent_named(caller: Caller, user: User, name: str) -> str:
    """The id of the agent `owner/handle`, or `handle`: the caller's own, else the site's. It need not be there."""
    try:
        owner, handle = split_agent_name(name)
    except InvalidRequest:
        raise InvalidRequest("agent_id must be owner/handle, or a handle.", field="agent_id") from None
    if not owner:
        owner = user.username if await find_agent(caller, handle) else SITE_OWNER
    return f"{owner}/{handle}"


def published_agents(user: User, *, after: str, limit: int) -> tuple[list[Agent], str | None]:
    """Published agents that the user may ask, by `owner/handle`; and the `after` of the following page."""
    return _page(_askable(user).filter(published=True), after, limit)


def agent_page(user: User, *, query: str, after: str, limit: int) -> AgentPage:
    """The agents that the user may ask, their own unpublished ones too."""
    words = Q(name__icontains=query) | Q(description__icontains=query) | Q(handle__icontains=query)
    agents, following = _page(_askable(user).filter(words) if query else _askable(user), after, limit)
    return AgentPage(agents=[_shown(agent) for agent in agents], next=following)


def availability(user: User, limit: int) -> list[Availability]:
    """Which of the first agents answer, and what is left of their limits."""
    agents, _ = _page(_askable(user), "", limit)
    left = [asdict(each) for each in remaining_of(agents)]
    return [
        Availability(agent_id=agent.agent_id, healthy=_is_healthy(agent), limits=_known(limits))
        for agent, limits in zip(agents, left, strict=True)
    ]


def _known(limits: dict[str, object]) -> dict[str, object] | None:
    return {name: value for name, value in limits.items() if value is not None} or None


def _askable(user: User) -> AgentQuerySet:
    ready = Agent.objects.visible_to(user).filter(enabled=True, current_revision__state=Revision.State.READY)
    return ready.select_related("owner", "current_revision", "liveness")


def _page(agents: AgentQuerySet, after: str, limit: int) -> tuple[list[Agent], str | None]:
    found = list(agents.in_order(after=after)[: limit + 1])
    return found[:limit], found[limit - 1].agent_id if len(found) > limit else None


def _shown(agent: Agent) -> AskableAgent:
    return AskableAgent(
        agent_id=agent.agent_id,
        name=agent.name,
        description=agent.description,
        capabilities=agent.capabilities,
        healthy=_is_healthy(agent),
        sample_queries=queries_of(agent, SAMPLES_SHOWN),
    )


def _is_healthy(agent: Agent) -> bool:
    return health_of(agent, mine=False).healthy
