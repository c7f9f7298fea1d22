"""The events of an answer, for agents of every kind, and however the answer ends."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from sessions_app.models import Run
from tests.agents import Behaviour, answer
from tests.bridges.agentscope.reading import Answer, events_in, process, request, resumed, some_events, whole
from tests.sessions_app.embedded import content_at, ref, returning
from tests.sessions_app.people import Person, wait_until
from tests.sessions_app.streaming import held, lines
from tests.sites import Site, running_site

Register = Callable[[Person, Behaviour], str]
# The seed's own example, as it stands.
EXAMPLE = {
    "input": [{"role": "user", "content": [{"type": "text", "text": "Describe this image"}], "type": "message"}],
    "stream": True,
    "model": "gpt-4-vision",
}
HEAD = [("response", "created"), ("response", "in_progress")]
SAID = [
    ("message", "message", "created"),
    ("content", "text", "in_progress"),
    ("content", "text", "completed"),
    ("message", "message", "completed"),
]


def test_the_example_of_the_protocol_is_answered_in_its_sequence_field_by_field(asker: Person) -> None:
    answer = process(asker, "fixie/echo", EXAMPLE).checked()
    response, message = answer.events[0]["id"], answer.events[2]["id"]
    session = asker.http.get("/api/sessions").json()["items"][0]["handle"]
    created = answer.events[0].pop("created_at")
    assert abs(created - time.time()) < 30
    base = {"object": "response", "id": response, "session_id": session, "ignored": ["model"]}
    content = {"object": "content", "type": "text", "index": 0, "msg_id": message, "text": "Describe this image"}
    told = {"object": "message", "id": message, "type": "message", "role": "assistant"}
    final = {**content, "status": "completed", "delta": False}
    complete = {**told, "status": "completed", "content": [final], "metadata": {"agent": "fixie/echo"}}
    assert answer.events[:-1] == [
        {**base, "sequence_number": 0, "status": "created"},
        {**base, "sequence_number": 1, "status": "in_progress", "created_at": created},
        {**told, "sequence_number": 2, "status": "created"},
        {**content, "sequence_number": 3, "status": "in_progress", "delta": True},
        {**final, "sequence_number": 4},
        {**complete, "sequence_number": 5},
    ]
    assert answer.response.pop("completed_at") >= created - 1
    usage = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    end = {"sequence_number": 6, "status": "completed", "created_at": created, "output": [complete], "usage": usage}
    assert answer.response == {**base, **end}


def test_the_text_of_an_agent_that_streams_comes_in_deltas(asker: Person, agent_of: Register) -> None:
    agent = agent_of(asker, lines("Hello", "Hello, ", "Hello, world!", delay=0.1))
    answer = process(asker, agent, request("hi")).checked()
    deltas = [event["text"] for event in answer.events if event.get("delta")]
    assert deltas == ["Hello", ", ", "world!"]
    assert answer.outline() == [*HEAD, *SAID[:2], SAID[1], SAID[1], *SAID[2:], ("response", "completed")]
    assert answer.text == "Hello, world!"


def test_a_text_that_is_written_anew_takes_the_place_of_what_was_there(asker: Person, agent_of: Register) -> None:
    agent = agent_of(asker, lines("Let me see", "I cannot say", "I cannot say.", delay=0.1))
    answer = process(asker, agent, request("hi")).checked()
    contents = [(event["delta"], event["status"], event["text"]) for event in answer.events if "text" in event]
    assert contents == [
        (True, "in_progress", "Let me see"),
        (False, "in_progress", "I cannot say"),
        (True, "in_progress", "."),
        (False, "completed", "I cannot say."),
    ]


def test_the_steps_of_a_code_shot_are_messages_before_its_answer(asker: Person, code_shot: Callable[..., str]) -> None:
    agent = code_shot(asker)
    answer = process(asker, agent, request("Roll 2d6")).checked()
    assert answer.outline() == [
        *HEAD,
        *[event for kind in ("function_call", "function_call_output") for event in _step(kind)],
        *SAID,
        ("response", "completed"),
    ]
    call, output, said = answer.response["output"]
    call_id = call["content"][0]["data"]["call_id"]
    assert call["content"][0]["data"] == {"call_id": call_id, "name": "roll", "arguments": '{"text":"2d6"}'}
    assert output["content"][0]["data"] == {"call_id": call_id, "name": "roll", "output": "4 2"}
    assert (call["role"], output["role"], said["role"]) == ("assistant", "tool", "assistant")
    assert said["content"][0]["text"] == "4 2"
    assert [each["metadata"] for each in answer.response["output"]] == [{"agent": agent}] * 3


def _step(kind: str) -> list[tuple[str, str, str]]:
    return [("message", kind, "created"), ("content", "data", "completed"), ("message", kind, "completed")]


def test_an_agent_that_is_asked_is_a_plugin_and_its_own_steps_are_told_too(
    asker: Person, code_shot: Callable[..., str]
) -> None:
    below = code_shot(asker)
    agent = code_shot(asker, f"Q: Roll 3d8\nAsk Agent[{below}]: Roll 3d8\nAgent[{below}] says: 8 3 4\nA: 8 3 4")
    answer = process(asker, agent, request("Roll 2d6")).checked()
    said = [(each["type"], each["metadata"]["agent"]) for each in answer.response["output"]]
    assert said == [
        ("plugin_call", agent),
        ("function_call", below),
        ("function_call_output", below),
        ("plugin_call_output", below),
        ("message", agent),
    ]
    call, output = (answer.response["output"][place]["content"][0]["data"] for place in (0, 3))
    assert call == {"call_id": output["call_id"], "name": below, "arguments": '{"text":"Roll 2d6"}'}
    assert output == {"call_id": call["call_id"], "name": below, "output": "4 2"}


@pytest.mark.parametrize(
    ("content_type", "kind", "name"),
    [
        ("image/png", "image", "image_url"),
        ("audio/mpeg", "audio", "data"),
        ("video/mp4", "video", "video_url"),
        ("text/plain", "file", "file_url"),
    ],
)
def test_embeds_of_an_answer_are_contents_behind_its_text(
    asker: Person, agent_of: Register, content_type: str, kind: str, name: str
) -> None:
    body = {"image/png": b"\x89PNG\r\n\x1a\n", "audio/mpeg": b"ID3"}.get(content_type, b"text").decode("latin-1")
    embed = ref(body.encode("latin-1"), content_type)  # type: ignore[arg-type]
    answer = process(asker, agent_of(asker, returning("See #a", {"a": embed})), request("paint")).checked()
    text, picture = answer.response["output"][0]["content"]
    assert text["text"] == "See #1"
    assert (picture["type"], picture["index"], picture["key"], picture["status"]) == (kind, 1, "1", "completed")
    assert content_at(picture[name]).encode("latin-1", "replace")[:2] in (body.encode("latin-1")[:2], b"?P")


def test_without_a_stream_the_response_comes_once_it_is_complete(asker: Person, code_shot: Callable[..., str]) -> None:
    agent = code_shot(asker)
    response = whole(asker, agent, request("Roll 2d6"))
    streamed = process(asker, agent, request("Roll 2d6")).response
    types = [each["type"] for each in streamed["output"]]
    assert [each["type"] for each in response["output"]] == types
    assert (response["status"], response["object"]) == ("completed", "response")
    assert response["output"][-1]["content"][0]["text"] == "4 2"


def test_an_agent_that_fails_ends_the_stream_with_an_error_message_and_a_failed_response(
    asker: Person, agent_of: Register
) -> None:
    agent = agent_of(asker, answer({"message": {"text": "No dice."}}, status=500))
    for told in (
        process(asker, agent, request("hi")).checked(),
        resumed(asker, process(asker, agent, request("hi")).id),
    ):
        error = told.response["error"]
        assert (told.response["status"], error) == ("failed", {"code": "agent_error", "message": "No dice."})
        [message] = told.response["output"]
        assert (message["type"], message["status"]) == ("error", "failed")
        assert (message["code"], message["message"]) == ("agent_error", "No dice.")
    response = whole(asker, agent, request("hi"))
    assert (response["status"], response["error"]["code"]) == ("failed", "agent_error")


def test_an_answer_that_is_stopped_keeps_what_was_said_as_incomplete(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    body = request("go")
    with asker.http.stream("POST", f"/agents/{agent}/process", json=body) as stream:
        first = Answer.of(some_events(stream, 4))
        assert first.events[-1]["text"] == "On go"
        run = first.id.removeprefix("response_")
        assert asker.http.post(f"/api/runs/{run}/cancel").status_code == 202
    told = resumed(asker, first.id).checked()
    assert told.response["status"] == "canceled"
    assert told.response["error"] == {"code": "canceled", "message": "The query was stopped."}
    [message] = told.response["output"]
    assert (message["status"], message["content"][0]["text"]) == ("incomplete", "On go")


def test_a_query_that_waits_is_created_and_begins_when_its_turn_comes(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    session = asker.new_session(agent)
    asker.post(session, "first")
    body = request("second", session_id=session)
    with asker.http.stream("POST", "/process", json=body) as stream:
        lines = iter(stream.iter_lines())
        [created] = [next(lines) for _ in range(2)][1:]
        assert '"status":"created"' in created
        gate.set()
        rest = "\n".join(lines)
    assert rest.index('"in_progress"') < rest.index("On second")
    assert rest.rstrip().splitlines()[-1].count('"completed"')


@pytest.fixture(scope="module")
def impatient(database: None) -> Iterator[Site]:
    with running_site(AGENT_API_HEARTBEAT_SECONDS="0.2", RUN_LEASE_SECONDS="15") as site:
        yield site


def test_a_quiet_stream_has_heartbeats(
    impatient: Site, asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    with (
        impatient.client(asker.key) as http,
        http.stream("POST", f"/agents/{agent}/process", json=request("go")) as stream,
    ):
        first = Answer.of(some_events(stream, 6))
        beats = first.events[4:]
        assert [(beat["object"], beat["type"]) for beat in beats] == [("message", "heartbeat")] * 2
    gate.set()
    wait_until(lambda: Run.objects.get(pk=first.id.removeprefix("response_")).status == "completed")
    rest = resumed(asker, first.id, first.ids[-1])
    read = (first + rest).checked()
    assert read.text == "On go: done"


def test_whoever_leaves_does_not_stop_the_run_unless_they_ask_for_it(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    runs = []
    for cancels in (False, True):
        body = request("go", cancel_on_disconnect=cancels)
        with asker.http.stream("POST", f"/agents/{agent}/process", json=body) as stream:
            runs.append(Answer.of(some_events(stream, 4)).id.removeprefix("response_"))
    wait_until(lambda: Run.objects.get(pk=runs[1]).status == "canceled")
    assert Run.objects.get(pk=runs[0]).status == "in_progress"
    gate.set()
    wait_until(lambda: Run.objects.get(pk=runs[0]).status == "completed")


def test_whoever_reads_along_does_not_stop_the_run_by_leaving(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    body = request("go", cancel_on_disconnect=True, response_id="read-by-two")
    with asker.http.stream("POST", f"/agents/{agent}/process", json=body) as first:
        events = events_in(first.iter_lines())
        read = [next(events) for _ in range(4)]
        with asker.http.stream("POST", f"/agents/{agent}/process", json=body) as second:
            some_events(second, 4)
        time.sleep(0.3)  # in which the site hears of it
        gate.set()
        told = Answer.of([*read, *events]).checked()
    assert (told.response["status"], told.text) == ("completed", "On go: done")


def test_whoever_leaves_without_a_stream_may_stop_the_run_too(
    site: Site, asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    body = json.dumps(request("go", cancel_on_disconnect=True, stream=False))
    head = [f"POST /agents/{agent}/process HTTP/1.1", "Host: here", f"Authorization: Bearer {asker.key}"]
    runs = Run.objects.filter(session__owner=asker.user)
    with socket.create_connection(("127.0.0.1", site.port)) as wire:
        wire.sendall("\r\n".join([*head, f"Content-Length: {len(body)}", "", body]).encode())
        wait_until(runs.exists)
    wait_until(lambda: runs.get().status == "canceled")
