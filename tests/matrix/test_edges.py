"""What every edge owes its callers: the same rules, and the same words where they are not kept."""

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from common.db import run_db
from tests.matrix.edges import EDGES, Edge
from tests.sessions_app.people import Person
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User
    from registry.models import Agent

pytestmark = pytest.mark.parametrize("edge", EDGES)


@pytest.fixture
def ask(site: Site, asker: Person, edge: str) -> Edge:
    return EDGES[edge](site, asker)


@pytest.fixture
def owned(make_user: Callable[..., "User"], echo: str) -> Iterator[Callable[..., "Agent"]]:
    """`owned(by=None, **fields)` → a new agent of theirs, else of somebody else's, that echoes what it is asked."""
    from registry.actions import delete_agent
    from tests.sessions_app.queries import make_agent

    made: list[Agent] = []

    def make(by: "User | None" = None, **fields: Any) -> "Agent":
        made.append(make_agent((by or make_user()).owner, **fields))
        return made[-1]

    yield make
    for agent in made:
        delete_agent(agent=agent)


def asked_of(person: Person, agent: str) -> int:
    """How often they have asked the agent, as is kept."""
    from sessions_app.models import Run

    owner, handle = agent.split("/")
    return Run.objects.filter(session__owner=person.user, agent__handle=handle, agent__owner__handle=owner).count()


async def test_a_published_agent_answers_anybody(ask: Edge, asker: Person, owned: Any) -> None:
    agent = await run_db(owned, published=True)
    assert (await ask.ask(agent.agent_id, "Hello")).text == "Hello"
    assert await run_db(asked_of, asker, agent.agent_id) == 1


async def test_an_agent_of_ones_own_needs_not_be_published(ask: Edge, asker: Person, owned: Any) -> None:
    agent = await run_db(owned, asker.user, published=False)
    assert (await ask.ask(agent.agent_id, "Hello")).text == "Hello"


async def test_a_strangers_agent_looks_like_one_that_is_not_there(ask: Edge, asker: Person, owned: Any) -> None:
    agent = await run_db(owned, published=False)
    refused = (await ask.ask(agent.agent_id, "Hello")).error
    nowhere = f"nobody/{uuid.uuid4().hex[:8]}"
    assert refused
    assert refused.replace(agent.agent_id, nowhere) == (await ask.ask(nowhere, "Hello")).error
    assert await run_db(asked_of, asker, agent.agent_id) == 0


async def test_an_agent_that_is_switched_off_says_so(ask: Edge, asker: Person, owned: Any) -> None:
    agent = await run_db(owned, published=True, enabled=False)
    assert f"{agent.agent_id} is switched off" in (await ask.ask(agent.agent_id, "Hello")).error
    assert await run_db(asked_of, asker, agent.agent_id) == 0


async def test_an_empty_question_is_refused(ask: Edge, asker: Person, echo: str) -> None:
    assert (await ask.ask(echo, " ")).error
    assert await run_db(asked_of, asker, echo) == 0


async def test_a_day_that_is_used_up_is_told_in_words(ask: Edge, asker: Person, echo: str) -> None:
    asker.user.daily_query_limit = 0
    await run_db(asker.user.save)
    assert "used up" in (await ask.ask(echo, "Hello")).error
    assert await run_db(asked_of, asker, echo) == 0


async def test_nobody_asks_without_a_key(site: Site, asker: Person, edge: str, echo: str) -> None:
    assert (await EDGES[edge](site, asker, key="").ask(echo, "Hello")).error
    assert await run_db(asked_of, asker, echo) == 0
