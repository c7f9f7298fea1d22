"""Which tools a client finds, and what it is told of agents."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from mcp.shared.exceptions import MCPError

from bridges.mcp.agents import agent_of_tool
from tests.bridges.mcp.connecting import MODES, Hand
from tests.sessions_app.people import Person

if TYPE_CHECKING:
    from registry.models import Agent

Echoing = Callable[..., "Agent"]


def tool_of(agent: "Agent") -> str:
    return f"{agent.owner.handle}__{agent.handle}"


@pytest.mark.parametrize("mode", MODES)
def test_a_client_finds_the_sites_tools_and_one_for_each_published_agent(
    mode: str, connect: Callable[..., Hand], asker: Person, echo: str
) -> None:
    hand = connect(asker, mode)
    assert hand.client.server_info is not None
    assert hand.client.server_info.name == "fixie"
    names = [tool.name for tool in hand.tools()]
    assert names[:3] == ["delegate_task", "agent_status", "list_agents"]
    assert "fixie__echo" in names
    assert len(names) == len(set(names))


def test_an_agents_tool_says_what_it_can_be_asked(hand: Hand, asker: Person, echoing: Echoing) -> None:
    agent = echoing(asker, name="Parrot", description="Says it again.", queries=["Hello?", "Anybody there?"])
    [tool] = [tool for tool in hand.tools() if tool.name == tool_of(agent)]
    assert tool.title == "Parrot"
    assert tool.description == "Says it again.\n\nIt can be asked, for example:\n- Hello?\n- Anybody there?"
    assert tool.input_schema["required"] == ["prompt"]
    assert set(tool.input_schema["properties"]) == {"prompt", "session"}


def test_an_agents_tool_asks_it(hand: Hand, asker: Person, echoing: Echoing) -> None:
    agent = echoing(asker)
    result = hand.told(tool_of(agent), prompt="Hello?")
    assert (result["agent_id"], result["result"]) == (agent.agent_id, "Hello?")


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        ("fixie__dice", ("fixie", "dice")),
        ("a___b", ("a_", "b")),
        ("a__b__c", ("a", "b__c")),
        ("dice", None),
        ("__dice", None),
        ("fixie__", None),
        ("fi xie__dice", None),
    ],
)
def test_the_name_of_a_tool_is_read_in_one_way(name: str, agent: tuple[str, str] | None) -> None:
    assert agent_of_tool(name) == agent


def test_an_agent_whose_name_is_too_long_for_a_tool_is_still_listed(
    hand: Hand, asker: Person, echoing: Echoing
) -> None:
    agent = echoing(asker)
    agent.handle = "h" * 50
    agent.save()
    assert tool_of(agent) not in [tool.name for tool in hand.tools()]
    assert agent.agent_id in [each["agent_id"] for each in hand.agents()]


def test_a_place_in_the_list_of_tools_that_no_page_gave_is_refused(hand: Hand) -> None:
    with pytest.raises(MCPError) as refusal:
        hand.tools(after="not a place")
    assert refusal.value.code == -32602
    assert refusal.value.data["details"] == {"field": "cursor"}


def test_agents_are_listed_with_what_they_can_be_asked(hand: Hand, asker: Person, echoing: Echoing) -> None:
    agent = echoing(asker, name="Parrot", capabilities=["parroting"], queries=["Hello?"])
    assert hand.agents(query=agent.handle) == [
        {
            "agent_id": agent.agent_id,
            "name": "Parrot",
            "description": "",
            "capabilities": ["parroting"],
            "healthy": True,
            "sample_queries": ["Hello?"],
        }
    ]


def test_agents_are_listed_page_by_page(hand: Hand, asker: Person, echoing: Echoing) -> None:
    mine = {echoing(asker, name="Paged").agent_id for _ in range(3)}
    found = [agent["agent_id"] for agent in hand.agents(query="Paged", limit=1)]
    assert found == sorted(mine)
