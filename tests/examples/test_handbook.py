"""The agent whose answers are in a corpus: what it serves, and which queries it must leave to others."""

import base64
import re
from typing import Any

import numpy as np
import pytest

from examples.agents.__main__ import AGENTS
from examples.agents.handbook import FILES, ROOT
from registry.routing.embedder import embedder

OTHERS = {
    "roll three dice": "dice",
    "what is 15 % of 80": "calculator",
    "how far is 3 miles in km": "units",
    "how many words are in: to be or not to be": "textstats",
    "is 2028 a leap year?": "almanac",
    "How do I add an agent?": "handbook",
    "how can I use a language model?": "handbook",
}


def test_its_documents_have_names_that_hold_wherever_it_runs(client: Any) -> None:
    agent = client("handbook")
    [corpus] = agent.send("GET", "/handbook").document["corpora"]

    page = agent.send("POST", f"/handbook/corpus/{corpus['func_name']}", b'{"partition": null, "page_token": null}')

    documents = page.document["page"]["documents"]
    assert [document["source_name"] for document in documents] == [str(file.relative_to(ROOT)) for file in FILES]
    for document, file in zip(documents, FILES, strict=True):
        text = base64.b64decode(document["content"]).decode()
        assert text.splitlines()[0] == file.read_text().splitlines()[0]
        assert not re.search(r"\]\((?!https?:)", text)


@pytest.mark.parametrize(("method", "path"), [("POST", "corpus/documents"), ("GET", "README.md"), ("POST", "corpus/x")])
def test_nothing_is_served_without_a_token(client: Any, method: str, path: str) -> None:
    assert client("handbook", "").send(method, f"/handbook/{path}", b"{}").status == 401


def test_others_have_no_corpus(client: Any) -> None:
    assert client("dice").send("POST", "/dice/corpus/documents", b'{"message": {"text": ""}}').status == 404


async def test_its_samples_are_nearest_to_questions_about_the_site_alone() -> None:
    chosen = await embedder()
    queries = await chosen.embed(list(OTHERS))
    nearest = {
        handle: np.max(queries @ (await chosen.embed(questions(agent.manifest))).T, axis=1)
        for handle, agent in AGENTS.items()
    }
    for number, (query, handle) in enumerate(OTHERS.items()):
        assert max(nearest, key=lambda one: float(nearest[one][number])) == handle, query


def questions(manifest: dict[str, Any]) -> list[str]:
    shots = [shot.splitlines()[0].removeprefix("Q: ") for shot in manifest.get("few_shots", [])]
    return [*shots, *manifest.get("sample_queries", [])]
