"""Agents of the package that answer from documents: `UrlDocumentCorpus` and `register_corpus_func`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import ScriptedAgent, answer
from tests.published_client.package import SECONDS, Package
from tests.published_client.serving import program, served
from tests.published_client.somebody import Somebody
from tests.sessions_app.people import wait_until

VISIT = b"The library is open on weekdays from nine to five, and on Saturdays until noon."


@pytest.fixture(scope="module")
def pages() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as server:
        server.on("/visit", answer(body=VISIT, content_type="text/plain"), method="GET")
        yield server


@pytest.fixture(scope="module")
def url(package: Package, pages: ScriptedAgent, tmp_path_factory: Any) -> Iterator[str]:
    folder = program("librarian", tmp_path_factory.mktemp("agents"), "main:agent")
    with served(folder, package, PAGES=pages.url) as url:
        yield url


@pytest.fixture
def folder(tmp_path: Path, handle: str) -> Path:
    """A folder with an `agent.yaml` that names ann's agent."""
    (tmp_path / "agent.yaml").write_text(f"handle: {handle}\nentry_point: main:agent\n")
    return tmp_path


def revisions(person: Somebody, folder: Path) -> list[Any]:
    shown = person.fixie("agent", "revisions", "list", "--json", folder=folder)
    assert shown.code == 0, shown.err
    return list(json.loads(shown.out))


def indexed(person: Somebody, folder: Path) -> list[Any]:
    """The newest revision's corpora, once they are read."""
    found: list[Any] = []

    def are_read() -> bool:
        found[:] = revisions(person, folder)[0]["indexedCorpora"]
        return all(corpus["status"] != "IN_PROGRESS" for corpus in found)

    wait_until(are_read, SECONDS)
    return found


def test_it_answers_from_its_pages_and_its_func(ann: Somebody, handle: str, url: str, folder: Path) -> None:
    agent = ann.new_agent(handle, url)
    assert [(corpus["status"], corpus["vectorCount"]) for corpus in indexed(ann, folder)] == [
        ("COMPLETED", 1),
        ("COMPLETED", 4),
    ]
    session = ann.client.create_session(agent)
    assert session.query("Is the library open on Saturdays?").startswith(VISIT.decode())
    board = session.query("Which board of the history shelf holds green books with number 14?")
    assert board == "The history shelf, board 2, holds green books with number 14.\n\nSource: history-2.txt"
    assert "✅" in ann.fixie("agent", "revisions", "list", folder=folder).out.partition("Indexed")[2]


def test_a_deployment_reads_anew_what_it_is_told_to(
    ann: Somebody, handle: str, url: str, folder: Path, pages: ScriptedAgent
) -> None:
    ann.new_agent(handle, url)
    first = indexed(ann, folder)

    def visits() -> int:
        return sum(request.path == "/visit" for request in pages.requests)

    before = visits()
    ann.client.create_agent_revision(handle, True, external_url=url)
    assert indexed(ann, folder) == first
    assert visits() == before
    ann.client.create_agent_revision(handle, True, external_url=url, reindex_corpora=True)
    again = indexed(ann, folder)
    assert visits() == before + 1
    assert [corpus["vectorCount"] for corpus in again] == [1, 4]
    assert [corpus["created"] for corpus in again] != [corpus["created"] for corpus in first]
