"""Standalone agents written with the package: a plain function, and a generator that streams."""

import base64
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from tests.published_client.package import Package
from tests.published_client.serving import program, served
from tests.published_client.somebody import Somebody

NOTE = "data:text/plain;base64," + base64.b64encode(b"good morning").decode()


@pytest.fixture(scope="module")
def plain_url(package: Package, tmp_path_factory: Any) -> Iterator[str]:
    with served(program("plain", tmp_path_factory.mktemp("agents"), "main:answer"), package) as url:
        yield url


@pytest.fixture(scope="module")
def url(package: Package, tmp_path_factory: Any) -> Iterator[str]:
    with served(program("standalone", tmp_path_factory.mktemp("agents"), "main:agent"), package) as url:
        yield url


@pytest.fixture
def agent(ann: Somebody, handle: str, url: str) -> str:
    return ann.new_agent(handle, url, published=True)


def test_a_function_is_an_agent(ann: Somebody, handle: str, plain_url: str) -> None:
    agent = ann.new_agent(handle, plain_url)
    assert ann.client.create_session(agent).query("Ünïcode?") == "You said: Ünïcode?"


def test_its_sample_queries_are_shown(ann: Somebody, agent: str) -> None:
    assert ann.client.get_agent(agent).queries == ["Count 3", "Remember the milk"]


def test_a_generator_streams(ann: Somebody, agent: str) -> None:
    texts = [part["text"] for part in ann.client.create_session(agent).streaming_query("Count 5")]
    assert texts[-1] == "1 2 3 4 5"
    assert len(texts) > 1
    assert all(after.startswith(before) for before, after in pairwise(texts))


def test_it_attaches_files(ann: Somebody, agent: str) -> None:
    session = ann.client.create_session(agent)
    assert session.query("Attach good morning") == "Noted in #1."
    (found,) = session.get_embeds()
    assert (found["key"], found["embed"]["contentType"]) == (1, "text/plain")
    assert session.query("Read #1") == "1: text/plain good morning"


def test_it_reads_files_that_come_with_a_query(ann: Somebody, agent: str) -> None:
    embeds = {"1": {"content_type": "text/plain", "uri": NOTE}}
    answer = ann.http.post(f"/api/agents/{agent}", json={"message": {"text": "Read #1", "embeds": embeds}})
    assert answer.json()["message"]["text"] == "1: text/plain good morning"


def test_it_remembers_each_user_apart(ann: Somebody, bob: Somebody, agent: str) -> None:
    mine, others = (person.client.create_session(agent) for person in (ann, bob))
    assert mine.query("Recall") == "Nothing yet."
    mine.query("Remember milk")
    mine.query("Remember bread")
    assert mine.query("Recall") == "['milk', 'bread'] b'bread' ['raw/bytes', 'things'] 2"
    assert others.query("Recall") == "Nothing yet."
    assert mine.query("Forget") == "'Key things not found'"
    assert mine.query("Recall") == "Nothing yet."


def test_a_failure_half_way_is_told_after_what_there_is(ann: Somebody, agent: str) -> None:
    session = ann.client.create_session(agent)
    told = "I begin\n\nI'm sorry, an error occurred while processing your request."
    *_, last = session.streaming_query("Fail now")
    assert last == {"type": "error", "text": told}
    console = ann.terminal("session", "open", session.session_id, "Fail again")
    console.until(f"❯ {told}\n")
    console.left()
