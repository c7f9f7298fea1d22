"""People with the official MCP client in hand, and agents of many kinds."""

import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.bridges.mcp.connecting import Hand, hand_of, over_http
from tests.sessions_app.people import Person, wait_until
from tests.sites import Site

if TYPE_CHECKING:
    from registry.models import Agent


@pytest.fixture
def connect(site: Site) -> Iterator[Callable[..., Hand]]:
    """`connect(person, mode="auto")` → their client."""
    with ExitStack() as stack:
        yield lambda who, mode="auto": stack.enter_context(hand_of(partial(over_http, site, who.key, mode)))


@pytest.fixture
def hand(connect: Callable[..., Hand], asker: Person) -> Hand:
    """The asker's client."""
    return connect(asker)


@pytest.fixture
def echoing(echo: str) -> Iterator[Callable[..., "Agent"]]:
    """`echoing(person, **fields)` → a new agent of theirs that answers with the query's own words."""
    from registry.actions import delete_agent
    from tests.sessions_app.queries import make_agent

    made: list[Agent] = []

    def make(owner: Person, **fields: Any) -> "Agent":
        made.append(make_agent(owner.user.owner, **fields))
        return made[-1]

    yield make
    for agent in made:
        delete_agent(agent=agent)


@pytest.fixture
def rule(asker: Person) -> Iterator[Callable[..., str]]:
    """`rule(*agents)` → the task type of a new routing rule that prefers them, in this order, and that the site knows.

    They are the asker's, or published.
    """
    from registry.models import RoutingRule

    made: list[RoutingRule] = []

    def make(*agents: "Agent") -> str:
        made.append(RoutingRule.objects.create(task_type=f"task-{uuid.uuid4().hex[:8]}"))
        for position, agent in enumerate(agents):
            made[-1].preferences.create(agent=agent, position=position)
        asked = {"text": "Hello?", "task_type": made[-1].task_type}
        wait_until(lambda: asker.http.post("/api/route", json=asked).json()["rule"])
        return made[-1].task_type

    yield make
    for each in made:
        each.delete()


@pytest.fixture
def program(tmp_path: Path, make_user: Any) -> Callable[[str], str]:
    """`program(source)` → the id of a published agent that is this Python program, speaking JSON-RPC over stdio."""
    from registry.actions import create_agent
    from registry.commands import deploy_command
    from registry.transports.stdio_jsonrpc.options import CommandLine

    def make(source: str) -> str:
        path = tmp_path / f"{uuid.uuid4().hex[:8]}.py"
        path.write_text(source)
        admin = make_user(is_superuser=True)
        agent = create_agent(by=admin, owner=None, handle="program", published=True)
        deploy_command(agent=agent, by=admin, command=CommandLine(command=sys.executable, args=(str(path),)))
        return agent.agent_id

    return make
