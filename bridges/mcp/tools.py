"""The tools as clients see them: three of the site's own, and one for each published agent."""

import mcp_types as types

from bridges.mcp.agents import SAMPLES_SHOWN, tool_name
from bridges.mcp.arguments import Delegation, Listing, Prompted, StatusOf
from bridges.mcp.outputs import AgentPage, Task
from registry.models import Agent
from registry.specs import queries_of

# Of all that an agent's owner has written; lists hold many agents.
DESCRIPTION_MAX = 1000

INSTRUCTIONS = (
    "Fixie runs agents. Each published agent is a tool of its own; delegate_task finds the agent for a task, "
    "list_agents says which ones there are, and agent_status what became of a task. Pass the `session` of a result to "
    "go on in the same conversation."
)


DELEGATE_TASK = types.Tool(
    name="delegate_task",
    title="Delegate a task",
    description=(
        "Gives a task to an agent and returns what it answers. Without agent_id the routing rules, then the agents' "
        "capabilities, then their sample queries choose one."
    ),
    input_schema=Delegation.model_json_schema(),
    output_schema=Task.model_json_schema(),
)
AGENT_STATUS = types.Tool(
    name="agent_status",
    title="Status of tasks and agents",
    description="What became of a task; without a task_id your latest tasks, and which agents can be asked.",
    input_schema=StatusOf.model_json_schema(),
    annotations=types.ToolAnnotations(read_only_hint=True),
)
LIST_AGENTS = types.Tool(
    name="list_agents",
    title="List agents",
    description="The agents that you may ask, by owner/handle, with what each can be asked.",
    input_schema=Listing.model_json_schema(),
    output_schema=AgentPage.model_json_schema(),
    annotations=types.ToolAnnotations(read_only_hint=True),
)
OWN_TOOLS = [DELEGATE_TASK, AGENT_STATUS, LIST_AGENTS]
_PROMPTED = Prompted.model_json_schema()


def tools_of(agents: list[Agent]) -> list[types.Tool]:
    """The tools of these agents, of all that can have one."""
    return [_tool_of(agent, name) for agent in agents if (name := tool_name(agent))]


def _tool_of(agent: Agent, name: str) -> types.Tool:
    return types.Tool(
        name=name,
        title=agent.name or agent.agent_id,
        description=_description(agent),
        input_schema=_PROMPTED,
        annotations=types.ToolAnnotations(open_world_hint=True),
    )


def _description(agent: Agent) -> str:
    told = agent.description or f"The agent {agent.agent_id}."
    samples = queries_of(agent, SAMPLES_SHOWN)
    if samples:
        told += "\n\nIt can be asked, for example:\n" + "\n".join(f"- {sample}" for sample in samples)
    return told if len(told) <= DESCRIPTION_MAX else f"{told[:DESCRIPTION_MAX]} …"
