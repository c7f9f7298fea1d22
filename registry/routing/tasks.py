"""Keeping the Router's index as agents and embedders are, run by Procrastinate."""

from procrastinate.contrib.django import app

from common.db import run_db
from registry.routing import indexing
from registry.routing.reembedding import follow_embedder
from registry.routing.samples import TASK, index_later
from registry.words import keep_missing_words


@app.task(name=TASK)
async def index_agent(agent: int) -> None:
    """Puts what the agent of this id can be asked into the index."""
    await indexing.index_agent(agent)


@app.periodic(cron="* * * * *")
@app.task(name="registry.index_agents", queueing_lock="registry.index_agents")
async def index_agents(timestamp: int) -> None:
    """Has those agents indexed that no task stands for: it died, or the embedder failed, or they are older than
    the index. Agents that cannot be found by words yet can be afterwards."""
    await run_db(keep_missing_words)
    await run_db(_index_later, await run_db(indexing.agents_to_index))


def _index_later(agents: list[int]) -> None:
    for agent in agents:
        index_later(agent)


@app.periodic(cron="* * * * *")
@app.task(name="registry.follow_embedder", queueing_lock="registry.follow_embedder")
async def move_index(timestamp: int) -> None:
    """Moves the index to the embedder that the site uses by now."""
    await follow_embedder()
