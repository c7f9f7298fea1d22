"""What may be sent: every field honoured, told as ignored, or refused by its name."""

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from sessions_app.models import Session
from tests.agents import Behaviour
from tests.bridges.agentscope.reading import assistant, process, request, user, whole
from tests.sessions_app.embedded import data_uri, reader, upload
from tests.sessions_app.people import Json, Person, error_of

Register = Callable[[Person, Behaviour], str]
PNG = b"\x89PNG\r\n\x1a\n"


def refused(person: Person, body: Any, status: int = 400) -> Json:
    """The error's details; nothing was asked."""
    before = Session.objects.filter(owner=person.user).count()
    answer = person.http.post("/agents/fixie/echo/process", json=body)
    assert answer.status_code == status, answer.text
    assert Session.objects.filter(owner=person.user).count() == before
    error = error_of(answer)
    return {**error["details"], "message": error["message"]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 0.2),
        ("top_p", 0.5),
        ("frequency_penalty", 1),
        ("presence_penalty", -1),
        ("max_tokens", 100),
        ("stop", "END"),
        ("stop", ["END"]),
        ("seed", 7),
        ("n", 2),
        ("n", 9),
        ("tools", [{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}]),
        ("temperature", "hot"),
        ("stream", "perhaps"),
        ("cancel_on_disconnect", "perhaps"),
        ("session_id", "x" * 201),
        ("session_id", 7),
        ("response_id", "a/b"),
        ("response_id", "task"),
        ("response_id", "x" * 201),
        ("id", "a b"),
        ("input", []),
        ("input", "hello"),
        ("input", None),
    ],
)
def test_a_field_that_cannot_be_honoured_is_refused_by_its_name(asker: Person, name: str, value: Any) -> None:
    assert refused(asker, {**request("hi"), name: value})["field"] == name


def test_fields_that_change_nothing_are_taken_and_others_are_told_as_ignored(asker: Person) -> None:
    neutral = {
        "temperature": 1,
        "top_p": 1.0,
        "frequency_penalty": 0,
        "presence_penalty": 0.0,
        "max_tokens": None,
        "stop": [],
        "seed": None,
        "n": 1,
        "tools": [],
        "session_id": None,
        "response_id": None,
        "user_id": None,
    }
    assert "ignored" not in whole(asker, "fixie/echo", request("hi", model="", **neutral))
    response = whole(asker, "fixie/echo", request("hi", model="gpt-4-vision", flavour="vanilla"))
    assert response["ignored"] == ["model", "flavour"]


TOOL_OUTPUT = {"type": "data", "data": {"call_id": "1", "output": "4"}}


@pytest.mark.parametrize(
    ("field", "messages"),
    [
        ("input[0].content", [{"role": "user", "content": "hello"}]),
        ("input[0].content", [{"role": "user", "content": []}]),
        ("input[0].content", [{"role": "user"}]),
        ("input[0].content", [user("  ")]),
        ("input[0].content", [user("a\0b")]),
        ("input[1].content[1].text", [user("hi"), user("a", {"type": "text", "text": 7})]),
        ("input[0].content[0].type", [user({"type": "hologram"})]),
        ("input[0].content[0].type", [user({"text": "hi"})]),
        ("input[0].content[0].image_url", [user({"type": "image"})]),
        ("input[0].content[1].image_url", [user("see", {"type": "image", "image_url": "gopher://x/y"})]),
        ("input[0].content[1].image_url", [user("see", {"type": "image", "image_url": "data:image/png;base64,???"})]),
        ("input[0].content[0].image_url", [user({"type": "image", "image_url": {"url": "https://x/y"}})]),
        ("input[0].content[1].data", [user("hear", {"type": "audio", "data": "???", "format": "mp3"})]),
        ("input[0].content[0].file_id", [user({"type": "file", "file_id": "none"})]),
        ("input[1].role", [user("hi"), assistant("hello")]),
        ("input[0].role", [{**user("hi"), "role": "tool"}, user("hi")]),
        ("input[0].role", [{**user("hi"), "role": "oracle"}, user("hi")]),
        ("input[1].type", [user("hi"), {"type": "function_call_output", "role": "tool", "content": [TOOL_OUTPUT]}]),
        ("input[0].type", [{"type": "function_call", "role": "assistant", "content": [TOOL_OUTPUT]}, user("hi")]),
        ("input[0]", ["hello"]),
    ],
)
def test_what_is_wrong_in_the_input_is_named_to_the_last_index(asker: Person, field: str, messages: list[Any]) -> None:
    details = refused(asker, {"input": messages}, 404 if field.endswith("file_id") else 400)
    assert details["field"] == field


@pytest.mark.parametrize("body", ["[]", '"hello"', "null", "{", "", '{"input": ' + "[" * 100_000])
def test_what_is_no_request_is_refused(asker: Person, body: str) -> None:
    answer = asker.http.post("/process", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert error_of(answer)["details"]["field"] in ("body", "input")


def test_sizes_are_bounded(asker: Person) -> None:
    details = refused(asker, request("x" * 70_000), 413)
    assert details["field"] == "input[0].content"
    assert refused(asker, request("x" * 9_000_000), 413)["field"] == "body"
    many = [{"type": "image", "image_url": data_uri(PNG, "image/png")}] * 17
    assert refused(asker, request("see", *many))["field"] == "input"
    said = [user("a" * 40_000), assistant("b" * 40_000), user("hi")]
    for messages in (said, [user("hi")] * 1001, [user(*["x"] * 1001)]):
        assert refused(asker, {"input": messages}, 413)["field"] == "input"
    deep = '{"a":' * 400 + "1" + "}" * 400
    body = json.dumps(request({"type": "data", "data": {"a": "DEEP"}})).replace('"DEEP"', deep)
    answer = asker.http.post("/process", content=body)
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (400, "input[0].content[0].data")


SAID = json.dumps(user("hi"))


def filled(begin: str, unit: str, end: str) -> str:
    """A body of nearly 8 MiB, with `unit` as often as it fits."""
    return begin + ",".join([unit] * (8_000_000 // (len(unit) + 1))) + end


@pytest.mark.parametrize(
    ("begin", "unit", "end", "status", "field"),
    [
        (f'{{"input": [{SAID}], "stop": [', "1", "]}", 400, "stop"),
        (f'{{"input": [{SAID}], "tools": [', "1", "]}", 400, "tools"),
        (f'{{"input": [{SAID}], "temperature": [', "1", "]}", 400, "temperature"),
        (f'{{"input": [{SAID}], "session_id": [', "1", "]}", 400, "session_id"),
        ('{"input": [', "1", "]}", 413, "input"),
        ('{"input": [', "{}", "]}", 413, "body"),
        ('{"input": [{"content": [', "1", "]}]}", 413, "input"),
        ('{"input": [{"content": [', '{"type": 7}', "]}]}", 413, "body"),
        ('{"input": [{"content": [{"type": "data", "data": [', "1", "]}]}]}", 400, "input[0].content[0].data"),
        (f'{{"input": [{SAID}], "flavour": [', "[" * 900 + "]" * 900, "]}", 413, "body"),
        (f'{{"input": [{SAID}], "a": {{', '"b": 1', "}}", 413, "body"),
    ],
)
def test_a_large_request_that_is_wrong_is_refused_at_once(
    asker: Person, begin: str, unit: str, end: str, status: int, field: str
) -> None:
    body = filled(begin, unit, end)
    started = time.monotonic()
    answer = asker.http.post("/process", content=body)
    assert time.monotonic() - started < 2
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (status, field)
    assert not Session.objects.filter(owner=asker.user).exists()


def test_the_first_of_many_wrong_messages_and_contents_is_named(asker: Person) -> None:
    wrong = [{"role": 7, "type": 7, "content": 7}] * 1000
    assert refused(asker, {"input": [user("hi"), *wrong[1:]]})["field"] == "input[1].type"
    assert refused(asker, {"input": [user("hi", *[{"type": 7}] * 999)]})["field"] == "input[0].content[1].type"


def test_of_many_fields_that_nobody_knows_some_are_told(asker: Person) -> None:
    others = {f"field{number:05}": number for number in range(20_000)}
    response = whole(asker, "fixie/echo", request("hi", model="gpt-4", **others))
    assert response["ignored"] == ["model", *[f"field{number:05}" for number in range(19)]]


def test_files_that_come_along_are_the_querys_embeds(asker: Person, agent_of: Register) -> None:
    agent = agent_of(asker, reader())
    theirs = upload(asker, "uploaded")
    body = request(
        "Read",
        {"type": "image", "image_url": data_uri(PNG, "image/png")},
        {"type": "audio", "data": "SUQz", "format": "mp3"},
        {"type": "video", "video_url": data_uri("a film", "video/mp4")},
        {"type": "file", "file_data": "aGVsbG8=", "filename": "notes.txt"},
        {"type": "file", "file_url": data_uri("a page")},
        {"type": "file", "file_id": theirs},
        {"type": "data", "data": {"a": [1, 2]}},
        "please",
    )
    response = whole(asker, agent, body)
    text = response["output"][-1]["content"][0]["text"]
    said, _, read = text.partition("; ")
    assert said == 'Read no. 1 no. 2 no. 3 no. 4 no. 5 no. 6\n{"a":[1,2]}\nplease'
    assert "2=ID3 3=a film 4=hello 5=a page 6=uploaded" in read
    embeds = asker.http.get(f"/api/sessions/{response['session_id']}/embeds").json()["items"]
    kinds = [embed["content_type"] for embed in embeds]
    assert kinds == ["image/png", "audio/mpeg", "video/mp4", "text/plain", "text/plain", "text/plain"]


def test_somebody_elses_file_is_as_one_that_is_not_there(asker: Person, person: Callable[..., Person]) -> None:
    theirs = upload(person(), "secret")
    fields = [refused(asker, request({"type": "file", "file_id": each}), 404) for each in (theirs, "none")]
    assert fields[0] == fields[1]


def test_a_number_in_the_callers_text_stays_what_it_is_when_files_come_along(asker: Person) -> None:
    picture = {"type": "image", "image_url": data_uri(PNG, "image/png")}
    assert process(asker, "fixie/echo", request("We are #1!", picture)).text == "We are #1! #2"


def test_a_new_conversation_is_told_what_was_said_before_and_an_old_one_knows_it(asker: Person) -> None:
    system = {"role": "system", "type": "message", "content": [{"type": "text", "text": "Be brief."}]}
    said = [system, user("I am Ann."), assistant("Hello Ann."), user("Who am I?")]
    first = process(asker, "fixie/echo", {"input": said, "session_id": "1764056632961"})
    history = "This was said before:\n\nSystem:\nBe brief.\n\nUser:\nI am Ann.\n\nAssistant:\nHello Ann.\n\nWho am I?"
    assert first.text == history
    again = process(asker, "fixie/echo", {"input": [*said, user("And you?")], "session_id": "1764056632961"})
    assert again.text == "And you?"
    assert again.response["session_id"] == first.response["session_id"]


def test_a_session_that_goes_on_takes_a_history_of_any_length(asker: Person) -> None:
    said = [user("I am Ann."), *[assistant("x" * 7000), user("And?")] * 400]
    process(asker, "fixie/echo", request("I am Ann.", session_id="long"))
    body = {"input": said, "session_id": "long", "response_id": "the-last-one"}
    for _ in range(2):
        assert process(asker, "fixie/echo", body).text == "And?"
    other = {**body, "input": [*said, user("Something else")]}
    assert refused(asker, other)["field"] == "response_id"
    assert refused(asker, {"input": said, "session_id": "new"}, 413)["field"] == "input"
