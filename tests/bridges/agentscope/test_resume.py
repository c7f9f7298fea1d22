"""Streams that break are read on from any event: nothing is lost, and nothing comes twice."""

import threading
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest
from django.http import StreamingHttpResponse

from accounts.auth import Caller
from accounts.models import User
from bridges.agentscope.streams import Reading
from common.db import run_db
from registry.bootstrap import ensure_internal_agent
from registry.transports.agentscope.models import AgentResponse
from registry.transports.base import AgentMessage, Call, Event, Reply, StepTaken
from registry.transports.internal import internal_agent
from sessions_app import posting
from sessions_app.models import Session
from sessions_app.runner import execute
from tests.agents import Behaviour, ScriptedAgent, answer
from tests.bridges.agentscope.reading import Answer, events_of, process, request, resumed, some_events
from tests.sessions_app.embedded import ref, returning
from tests.sessions_app.people import Person, error_of, wait_until
from tests.sessions_app.streaming import held

Register = Callable[[Person, Behaviour], str]


def test_an_answer_is_read_on_after_each_of_its_events(
    asker: Person, code_shot: Callable[..., str], agent_of: Register
) -> None:
    below = agent_of(asker, returning("painted #a", {"a": ref(b"\x89PNG\r\n\x1a\n", "image/png")}))
    agent = code_shot(asker, f"Q: Roll 3d8\nAsk Agent[{below}]: 3d8\nAgent[{below}] says: 8 3 4\nA: 8 3 4")
    whole = process(asker, agent, request("Roll 2d6")).checked()
    assert len(whole.events) > 12
    for cut in range(1, len(whole.events) + 1):
        rest = resumed(asker, whole.id, whole.ids[cut - 1])
        read = Answer(whole.ids[:cut], whole.events[:cut]) + rest
        assert read.steady() == whole.steady()
        read.checked()
    assert rest.events == []
    assert resumed(asker, whole.id).steady() == whole.steady()


def test_a_stream_that_breaks_in_the_middle_of_an_answer_goes_on_there(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    with asker.http.stream("POST", f"/agents/{agent}/process", json=request("go")) as stream:
        read = Answer.of(some_events(stream, 4))
    assert read.events[-1]["text"] == "On go"
    headers = {"Last-Event-ID": read.ids[-1]}
    with asker.http.stream("GET", f"/process/{read.id}", headers=headers) as stream:
        gate.set()
        rest = Answer.of(some_events(stream, 4))
    assert rest.events[0]["text"] == ": done"
    assert (read + rest).checked().text == "On go: done"


def test_the_same_post_goes_on_where_its_stream_broke(asker: Person, agent_of: Register, gate: threading.Event) -> None:
    agent = agent_of(asker, held(gate))
    body = request("go", response_id="of my own")
    body["response_id"] = "of-my-own"
    with asker.http.stream("POST", f"/agents/{agent}/process", json=body) as stream:
        read = Answer.of(some_events(stream, 4))
    gate.set()
    rest = process(asker, agent, body, **{"Last-Event-ID": read.ids[-1]})
    assert (read + rest).checked().text == "On go: done"
    assert len(asker.messages(rest.response["session_id"])) == 2


def test_the_same_post_goes_on_when_what_came_with_it_is_gone(
    asker: Person, agent_of: Register, gate: threading.Event, scripted: ScriptedAgent
) -> None:
    agent = agent_of(asker, held(gate))
    path = f"/{uuid.uuid4()}.png"
    scripted.on(path, answer(body=b"\x89PNG\r\n\x1a\n", content_type="image/png"), method="GET")
    picture = {"type": "image", "image_url": scripted.url + path}
    body = request("go", picture, response_id="with-a-picture")
    with asker.http.stream("POST", f"/agents/{agent}/process", json=body) as stream:
        read = Answer.of(some_events(stream, 4))
    scripted.on(path, answer(status=404), method="GET")
    gate.set()
    rest = process(asker, agent, body, **{"Last-Event-ID": read.ids[-1]})
    assert (read + rest).checked().text.endswith(": done")
    assert len([each for each in scripted.requests if each.path == path]) == 1


async def thinker(call: Call) -> AsyncIterator[Event]:
    """An agent inside this process that thinks before it answers."""
    yield StepTaken("thought", "Hm.")
    yield Reply(AgentMessage("Yes."))


async def test_an_answer_whose_session_is_deleted_while_it_is_read_ends_as_canceled(
    make_user: Callable[..., User], echo: str
) -> None:
    internal_agent("thinker")(thinker)
    about = {"handle": "thinker", "name": "Thinker", "description": "", "target": "thinker"}
    await run_db(ensure_internal_agent, owner_handle="fixie", **about)
    caller = Caller(user_id=(await run_db(make_user)).pk, jti=None)
    asked = await posting.ask(caller, ("fixie", "thinker"), "hi")
    assert await execute.is_over_within(asked.run, 10)
    ended = replace(asked, status="completed", running=False, again=True)
    streamed = await Reading(caller, ended, AgentResponse(id="deleted")).streamed()
    assert isinstance(streamed, StreamingHttpResponse)
    told = b""
    async for event in streamed:
        told += event
        if b"reasoning" in event:
            await Session.objects.filter(handle=asked.session).adelete()
    answer = Answer.of(events_of(told.decode())).checked()
    assert (answer.response["status"], answer.response["output"][0]["type"]) == ("canceled", "reasoning")


def test_the_rest_is_there_too_when_the_answer_has_ended_meanwhile(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    with asker.http.stream("POST", f"/agents/{agent}/process", json=request("go")) as stream:
        read = Answer.of(some_events(stream, 4))
    gate.set()
    task = wait_until(lambda: _finished(asker, read.id))
    rest = resumed(asker, read.id, read.ids[-1])
    assert (read + rest).checked().text == "On go: done"
    assert task["output"] == rest.response["output"]


def _finished(person: Person, response_id: str) -> dict[str, object] | None:
    task = person.http.get(f"/process/task/{response_id}").json()
    return task["result"] if task["status"] == "finished" else None


def test_what_is_said_in_the_session_besides_is_no_part_of_the_answer(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    session = asker.new_session(agent_of(asker, held(gate)))
    with asker.http.stream("POST", "/process", json=request("one", session_id=session)) as stream:
        first = Answer.of(some_events(stream, 4))
        asker.post(session, "two")
        gate.set()
        asker.settled(session)
    asker.post(session, "three")
    asker.settled(session)
    whole = resumed(asker, first.id).checked()
    assert (whole.text, len(whole.response["output"])) == ("On one: done", 1)


@pytest.mark.parametrize("last", ["7", "0-0-0-0", "x" * 300])
def test_a_last_event_id_that_is_none_of_ours_is_refused(asker: Person, last: str) -> None:
    whole = process(asker, "fixie/echo", request("hi"))
    answer = asker.http.get(f"/process/{whole.id}", headers={"Last-Event-ID": last})
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (400, "Last-Event-ID")


def test_reading_on_by_post_needs_the_name_of_the_stream(asker: Person) -> None:
    headers = {"Last-Event-ID": "1-2-0-0-0"}
    answer = asker.http.post("/agents/fixie/echo/process", json=request("hi"), headers=headers)
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (400, "response_id")
    assert asker.http.get("/api/sessions").json()["items"] == []
