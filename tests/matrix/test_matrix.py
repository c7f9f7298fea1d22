"""Every edge asks an agent of every transport: for words, about a file, for what fails, and for what is taken back."""

import asyncio

import pytest

from registry.transports.catalog import TRANSPORTS
from tests.matrix.agents import FAIL, FAILURE, GREETING, HELLO, LOOK, SUBJECTS, WAIT, Subject
from tests.matrix.edges import EDGES, Said
from tests.sessions_app.people import Person, wait_until
from tests.sites import Site

pytestmark = [
    pytest.mark.parametrize("edge", EDGES),
    pytest.mark.parametrize("subject", SUBJECTS, indirect=True),
]


async def test_words(site: Site, asker: Person, edge: str, subject: Subject) -> None:
    assert await EDGES[edge](site, asker).ask(subject.agent, HELLO) == Said(GREETING)


async def test_a_file_is_seen_by_the_agent(site: Site, asker: Person, edge: str, subject: Subject) -> None:
    said = await EDGES[edge](site, asker).ask(subject.agent, LOOK, attached="some notes")
    assert said == Said(subject.seen)


async def test_the_agents_own_words_say_why_it_failed(site: Site, asker: Person, edge: str, subject: Subject) -> None:
    said = await EDGES[edge](site, asker).ask(subject.agent, FAIL)
    assert FAILURE in said.error


async def test_a_query_that_is_taken_back_is_stopped_at_the_agent(
    site: Site, asker: Person, edge: str, subject: Subject
) -> None:
    asked = EDGES[edge](site, asker)
    asking = asyncio.create_task(asked.ask(subject.agent, WAIT))
    await asyncio.to_thread(wait_until, subject.has_begun)
    await asked.take_back(asking)
    await asyncio.to_thread(wait_until, subject.has_been_left)
    sessions = await asyncio.to_thread(asked.sessions)
    assert [session["runs"] for session in sessions] == [[]] * len(sessions)
    runs = (await asyncio.to_thread(asker.http.get, f"/api/sessions/{sessions[0]['handle']}/messages")).json()["runs"]
    assert runs[-1]["status"] == "canceled"


def test_the_matrix_covers_every_transport(edge: str, subject: Subject) -> None:
    # The Fixie agent's, and the platform's own agents, have no wire that an edge could meet.
    assert set(SUBJECTS) == set(TRANSPORTS) - {"internal"}
