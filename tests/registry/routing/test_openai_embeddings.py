"""Vectors from a server: a real one on loopback that answers well, otherwise, and badly."""

from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from common.errors import ModelUnavailable
from registry.routing.openai_embeddings import BATCH, MAX_CHARACTERS, OpenAIEmbeddings, fitted
from tests.agents import Behaviour, Request, ScriptedAgent, answer, hang

PATH = "/v1/embeddings"


def embedded(request: Request, length: int = 384) -> dict[str, Any]:
    """A vector for each input, in reverse order, that begins with the input's length."""
    rows = [
        {"object": "embedding", "index": index, "embedding": [float(len(text)), 1.0, *([0.0] * (length - 2))]}
        for index, text in enumerate(request.json["input"])
    ]
    return {"object": "list", "data": rows[::-1], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}


async def embed(server: ScriptedAgent, texts: list[str], timeout: float = 5.0) -> np.ndarray:
    model = OpenAIEmbeddings(base_url=f"{server.url}/v1", api_key="secret", model="m", timeout=timeout)
    try:
        return await model.embed(texts)
    finally:
        await model.aclose()


async def test_many_texts_go_in_batches_and_come_back_in_order():
    with ScriptedAgent() as server:
        server.on(PATH, answer(embedded))
        texts = ["x" * length for length in range(1, 2 * BATCH)]
        rows = await embed(server, texts)
        assert rows[:, 0] / rows[:, 1] == pytest.approx(np.arange(1, 2 * BATCH), rel=1e-4)
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1)
        sent = [request.json for request in server.requests]
    assert [len(body["input"]) for body in sent] == [BATCH, BATCH - 1]
    assert all((body["model"], body["dimensions"]) == ("m", 384) for body in sent)


async def test_long_texts_are_cut_and_empty_ones_sent_as_a_space():
    with ScriptedAgent() as server:
        server.on(PATH, answer(embedded))
        await embed(server, ["y" * 50_000, ""])
        assert server.requests[0].json["input"] == ["y" * MAX_CHARACTERS, " "]


async def test_a_server_that_takes_no_dimensions_is_asked_without():
    def picky(request: Request) -> Any:
        return {"error": {"message": "no dimensions"}} if "dimensions" in request.json else embedded(request, 1536)

    with ScriptedAgent() as server:

        async def behave(exchange: Any) -> None:
            refused = "dimensions" in exchange.request.json
            await answer(picky, status=400 if refused else 200)(exchange)

        server.on(PATH, behave)
        assert (await embed(server, ["one"])).shape == (1, 384)
        assert ["dimensions" in request.json for request in server.requests] == [True, False]


async def test_a_text_that_is_refused_for_itself_leaves_the_length_asked_for():
    with ScriptedAgent() as server:
        refused = answer({"error": {"message": "too long"}}, status=400)
        server.on(PATH, refused, refused, answer(embedded))
        model = OpenAIEmbeddings(base_url=f"{server.url}/v1", api_key="", model="m", timeout=5.0)
        with pytest.raises(ModelUnavailable):
            await model.embed(["bad"])
        await model.embed(["good"])
        await model.aclose()
        assert ["dimensions" in request.json for request in server.requests] == [True, False, True]


@pytest.mark.parametrize("length", [8, 384, 1024, 3072])
def test_vectors_of_any_length_keep_their_similarities(length):
    draws = np.random.default_rng(1)
    one = draws.standard_normal((50, length)).astype(np.float32)
    other = one + draws.standard_normal((50, length)).astype(np.float32)
    one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one, other))
    kept = (fitted(one) * fitted(other)).sum(axis=1)
    assert fitted(one).shape == (50, 384)
    assert np.abs(kept - (one * other).sum(axis=1)).max() < (0.2 if length > 384 else 1e-5)


@pytest.mark.parametrize(
    "behaviour",
    [
        answer({"error": {"message": "bad key: secret"}}, status=401),
        answer({"data": []}),
        answer({"data": [{"index": 0, "embedding": "nonsense"}]}),
        answer({"data": [{"index": 0, "embedding": [float(1), None]}]}),
        answer({"data": [{"index": 0, "embedding": []}]}),
        answer(body=b"<html>", content_type="text/html"),
        hang(),
    ],
    ids=["refused", "too few", "no numbers", "null", "empty", "html", "silent"],
)
async def test_a_bad_answer_is_one_error_and_the_log_holds_no_text(behaviour: Behaviour):
    with ScriptedAgent() as server, capture_logs() as logs:
        server.on(PATH, behaviour)
        with pytest.raises(ModelUnavailable, match="embeddings server"):
            await embed(server, ["private words"], timeout=0.3)
    assert [entry["event"] for entry in logs] == ["embeddings_failed"]
    assert "private" not in str(logs)
    assert "secret" not in str(logs)


async def test_nobody_there_is_the_same_error():
    model = OpenAIEmbeddings(base_url="http://127.0.0.1:9/v1", api_key="", model="m", timeout=2.0)
    with pytest.raises(ModelUnavailable):
        await model.embed(["one"])
    await model.aclose()
