"""`fixieai.client.session.Session`: each of its methods."""

import base64
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise

import httpx2
import pytest

from tests.agents import ScriptedAgent, answer, chunks
from tests.published_client.package import Raised, Remote
from tests.published_client.somebody import NOWHERE, Somebody

LINES = [b'{"message": {"text": "%b"}}\n' % text for text in (b"One", b"One two", b"One two.")]
CSV = b"12\n30\n"


@pytest.fixture
def session(ann: Somebody, agent: str) -> Remote:
    made: Remote = ann.client.create_session(agent)
    return made


@pytest.fixture
def attaching(ann: Somebody, handle: str) -> Iterator[str]:
    """An agent that answers with a file."""
    with ScriptedAgent() as server:
        server.on("/", answer({"type": "standalone"}), method="GET")
        embed = {"content_type": "text/csv", "uri": "data:base64," + base64.b64encode(CSV).decode()}
        server.on("/", answer({"message": {"text": "Here it is: #file", "embeds": {"file": embed}}}))
        yield ann.new_agent(f"{handle}-attaching", server.url)


def test_session_url_leads_to_its_page(ann: Somebody, session: Remote) -> None:
    assert session.session_url == f"{ann.site.url}/sessions/{session.session_id}"
    with ann.signed_in() as browser:
        assert browser.get(session.session_url).status_code == 200


def test_get_metadata_tells_name_description_and_agent(ann: Somebody, agent: str) -> None:
    body = {"agent": agent, "name": "Noise", "description": "All of it"}
    handle = ann.http.post("/api/sessions", json=body).json()["handle"]
    assert ann.client.get_session(handle).get_metadata() == {
        "handle": handle,
        "name": "Noise",
        "description": "All of it",
        "frontendAgentId": agent,
    }


def test_query_returns_the_answer(session: Remote) -> None:
    assert session.query("Shout hello") == "HELLO!"
    assert session.query("Say good night loudly") == "GOOD NIGHT!"


def test_query_of_a_session_that_was_opened_again_goes_to_its_agent(ann: Somebody, session: Remote) -> None:
    assert ann.client.get_session(session.session_id).query("Shout hello") == "HELLO!"


def test_query_without_a_front_agent_goes_to_the_one_that_is_named(ann: Somebody, agent: str) -> None:
    assert ann.client.create_session().query(f"@{agent} Shout hello") == "HELLO!"


def test_query_that_fails_returns_what_went_wrong(ann: Somebody, handle: str) -> None:
    session = ann.client.create_session(ann.new_agent(handle, NOWHERE))
    assert "agent" in session.query("Shout hello")


def test_query_that_is_refused_raises_its_status(ann: Somebody, bob: Somebody, session: Remote) -> None:
    with pytest.raises(Raised, match="400 Client Error: Bad Request"):
        session.query("")
    with pytest.raises(Raised, match="413 Client Error"):
        session.query("x" * 70_000)
    ann.user.daily_query_limit = 0
    ann.user.save()
    with pytest.raises(Raised, match="429 Client Error: Too Many Requests"):
        session.query("Shout hello")


def test_streaming_query_yields_the_answer_as_it_grows(ann: Somebody, handle: str) -> None:
    with ScriptedAgent() as server:
        server.on("/", answer({"type": "standalone"}), method="GET")
        server.on("/", chunks(*LINES, delay=0.1))
        session = ann.client.create_session(ann.new_agent(handle, server.url))
        parts = session.streaming_query("Count")
    texts = [part["text"] for part in parts]
    assert {part["type"] for part in parts} == {"response"}
    assert len(texts) > 1
    assert all(after.startswith(before) for before, after in pairwise(texts))
    assert texts[-1] == "One two."


def test_get_messages_tells_who_said_what_and_when(ann: Somebody, handle: str, session: Remote) -> None:
    session.query("Shout hello")
    messages = session.get_messages()
    said = [(message["type"], message["sentBy"]["handle"], message["text"]) for message in messages]
    assert said == [
        ("query", "user", "Shout hello"),
        ("func_call", handle, "Ask Func[shout]: hello"),
        ("func_output", handle, "Func[shout] says: HELLO!"),
        ("response", handle, "HELLO!"),
    ]
    assert messages[0]["inReplyTo"] is None
    assert messages[-1]["inReplyTo"] == {"id": messages[0]["id"]}
    assert len({message["id"] for message in messages}) == len(messages)
    times = [datetime.fromisoformat(message["timestamp"]) for message in messages]
    assert times == sorted(times)
    assert abs((datetime.now(UTC) - times[0]).total_seconds()) < 60


def test_get_embeds_has_what_agents_attached_with_an_address_that_works(ann: Somebody, attaching: str) -> None:
    session = ann.client.create_session(attaching)
    assert session.query("A file, please") == "Here it is: #1"
    (found,) = session.get_embeds()
    embed = found["embed"]
    assert found["key"] == 1  # a number, for which the console looks
    assert (embed["contentType"], embed["owner"]) == ("text/csv", {"username": ann.name})
    assert embed["contentHash"] == hashlib.sha256(CSV).hexdigest()
    assert embed["id"]
    assert datetime.fromisoformat(embed["created"]).tzinfo is not None
    assert httpx2.get(embed["url"]).content == CSV


def test_get_embeds_has_what_i_sent(ann: Somebody, agent: str) -> None:
    uri = "data:text/csv;base64," + base64.b64encode(CSV).decode()
    embeds = {"1": {"content_type": "text/csv", "uri": uri}}
    asked = ann.http.post(f"/api/agents/{agent}", json={"message": {"text": "Shout #1", "embeds": embeds}})
    session = ann.client.get_session(asked.json()["session"])
    assert [(each["key"], each["embed"]["contentType"]) for each in session.get_embeds()] == [(1, "text/csv")]


def test_delete_session_leaves_nothing(ann: Somebody, session: Remote) -> None:
    session.query("Shout hello")
    session.delete_session()
    assert ann.client.get_sessions() == []
    for method in ("get_messages", "get_embeds", "get_metadata", "delete_session"):
        with pytest.raises(Raised, match=r"There is no such session, or it is not yours\."):
            getattr(session, method)()
    with pytest.raises(Raised, match="404 Client Error: Not Found"):
        session.query("Shout hello")
