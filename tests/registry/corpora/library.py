"""Agents with corpora, read here or by a site on the same database, whoever is quicker."""

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

from common.db import run_db
from registry.actions import add_revision, create_agent
from registry.corpora.actions import reindex_corpora
from registry.corpora.indexing import index_waiting
from registry.corpora.passages import Passage
from registry.corpora.search import library_of, passages
from registry.models import Agent, Corpus, CorpusDocument
from registry.transports.base import FuncCorpus, UrlCorpus
from tests.registry.readings import URL, reads
from tests.sessions_app.people import wait_until

# A machine may have a lot else to do.
SECONDS = 60.0
UNREAD = (Corpus.Status.PENDING, Corpus.Status.INDEXING)
_numbers = itertools.count()


def put_agent(people: Any, *corpora: UrlCorpus | FuncCorpus, url: str = URL) -> Agent:
    """An agent of the organization that has these corpora, which wait to be read."""
    owner, handle = people.organization.owner.handle, f"library-{next(_numbers)}"
    return create_agent(by=people.owner, owner=owner, handle=handle, reading=reads(url, corpora=corpora))


async def new_agent(people: Any, *corpora: UrlCorpus | FuncCorpus, url: str = URL) -> Agent:
    return await run_db(put_agent, people, *corpora, url=url)


async def deploy(agent: Agent, people: Any, *corpora: UrlCorpus | FuncCorpus, url: str = URL, **more: Any) -> Any:
    """A new revision of the agent."""
    return await run_db(add_revision, agent=agent, by=people.owner, reading=reads(url, corpora=corpora), **more)


def corpora_of(agent: Agent) -> list[Corpus]:
    """Those of the current revision, and the readings that are to take their place."""
    current = Agent.objects.values_list("current_revision", flat=True).get(pk=agent.pk)
    return list(Corpus.objects.filter(revision=current).order_by("position", "pk"))


async def read(agent: Agent) -> list[Corpus]:
    """The agent's corpora once they are read, or have failed."""
    async with asyncio.timeout(SECONDS):
        while True:
            await index_waiting()
            found = await run_db(corpora_of, agent)
            if not any(corpus.status in UNREAD for corpus in found):
                return found
            await asyncio.sleep(0.05)


async def reindex(agent: Agent) -> None:
    """Has the agent's corpora read anew."""
    await run_db(reindex_corpora, agent=agent)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110 -- what it waits for happens in another thread or process
            await asyncio.sleep(0.02)


def wait_until_read(agent: Agent) -> list[Corpus]:
    """The agent's corpora once a site has read them, or has failed to."""
    wait_until(lambda: not any(corpus.status in UNREAD for corpus in corpora_of(agent)), SECONDS)
    return corpora_of(agent)


def documents_of(corpus: Corpus) -> dict[str, CorpusDocument]:
    return {document.source: document for document in corpus.documents.all()}


async def answers(agent: Agent, question: str, k: int = 5) -> list[Passage]:
    """What a search finds."""
    return await passages(agent.pk, question, await library_of(agent.pk), k)
