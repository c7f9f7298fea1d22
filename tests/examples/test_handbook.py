"""The agent whose answers are in a corpus: what it serves, and which queries it must leave to others."""

import re
import urllib.error
import urllib.request
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


def test_everybody_may_read_its_pages_and_its_manifest_names_them(client: Any, all_agents: int) -> None:
    [corpus] = client("handbook").send("GET", "/handbook").document["corpora"]
    assert len(corpus["urls"]) == len(FILES)
    for url, file in zip(corpus["urls"], FILES, strict=True):
        assert url == f"http://127.0.0.1:{all_agents}/handbook/pages/{file.relative_to(ROOT)}"
        with urllib.request.urlopen(url, timeout=10) as page:
            assert page.headers["Content-Type"] == "text/plain; charset=utf-8"
            text = page.read().decode()
        assert text.splitlines()[0] == file.read_text().splitlines()[0]
        assert not re.search(r"\]\((?!https?:)", text)


@pytest.mark.parametrize(
    "path", ["pages/", "pages/manage.py", "pages/../manage.py", "README.md", "pages/docs/../README.md"]
)
def test_nothing_else_is_served_without_a_token(all_agents: int, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{all_agents}/handbook/{path}", timeout=10)
    assert refused.value.status == 401


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
