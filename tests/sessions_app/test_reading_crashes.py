"""A process that dies while it reads a corpus: another goes on where it was, and nothing is lost or there twice."""

from collections.abc import Iterator
from typing import Any

import pytest

from registry.models import Chunk, CorpusDocument
from tests.agents import Exchange, ScriptedAgent, answer
from tests.sessions_app.cluster import ALIAS, SOON, Asker, Cluster
from tests.sessions_app.gates import Gate
from tests.sessions_app.people import Json, wait_until

QUICK = {"CORPUS_LEASE_SECONDS": "1.5", "CORPUS_DELAY_SECONDS": "0"}
PAGES = {
    "/refunds": "A refund is paid within thirty days after the parcel came back to our warehouse.",
    "/trains": "The night train to Vienna leaves at eleven from the southern platform.",
    "/slow": "The library lends books for four weeks, and films for one.",
    "/bread": "Bread is baked at five in the morning, and sold out by ten.",
}
BEFORE, CUT, AFTER = ["/refunds", "/trains"], ["/slow"], ["/bread"]


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def library(gate: Gate) -> Iterator[ScriptedAgent]:
    """Pages, of which the third does not come before the gate is open."""

    async def slow(exchange: Exchange) -> None:
        await gate.passed()
        await text("/slow")(exchange)

    def text(path: str) -> Any:
        return answer(body=PAGES[path].encode(), content_type="text/plain")

    with ScriptedAgent() as server:
        for path in PAGES:
            server.on(path, slow if path == "/slow" else text(path), method="GET")
        urls = [f"{server.url}{path}" for path in PAGES]
        manifest = {"type": "code_shot", "base_prompt": "", "few_shots": [], "corpora": [{"urls": urls}]}
        server.on("/", answer(manifest), method="GET")
        yield server


def corpus_at(asker: Asker, agent: str) -> Json:
    (corpus,) = asker.http.get(f"/api/agents/{agent}/corpora").json()["corpora"]
    return dict(corpus)


def test_a_reading_goes_on_in_another_process_after_kill_9(
    cluster: Cluster, library: ScriptedAgent, gate: Gate
) -> None:
    with cluster.process(**QUICK) as victim:
        made = victim.http.post("/api/agents", json={"handle": "library", "deployment_url": library.url})
        agent = str(made.json()["agent_id"])
        gate.until_reached()
        with cluster.process(**QUICK) as survivor:
            assert corpus_at(survivor, agent)["documents_done"] == len(BEFORE)
            victim.site.kill()
            gate.open.set()
            wait_until(lambda: corpus_at(survivor, agent)["status"] == "ready", SOON)
            asked = [request.path for request in library.requests if request.path in PAGES]
            assert asked == [*BEFORE, *CUT, *CUT, *AFTER]
            corpus = corpus_at(survivor, agent)
            assert (corpus["documents_done"], corpus["documents_failed"], corpus["vector_count"]) == (4, 0, 4)
            documents = CorpusDocument.objects.using(ALIAS).filter(corpus=corpus["id"]).order_by("pk")
            assert [document.source for document in documents] == [f"{library.url}{path}" for path in PAGES]
            chunks = Chunk.objects.using(ALIAS).filter(corpus=corpus["id"]).order_by("pk")
            assert [chunk.text for chunk in chunks] == list(PAGES.values())
            for path, question in {
                "/trains": "When does the night train leave?",
                "/slow": "How long are books lent?",
            }.items():
                answered = survivor.ask(agent, question).json()["message"]["text"]
                assert answered == f"{PAGES[path]}\n\nSource: {library.url}{path}"
            assert survivor.http.delete(f"/api/agents/{agent}").status_code == 204
