"""A client of the Agent API protocol: what it sends, and what it makes of the events, which it checks one by one."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx2

from tests.sessions_app.people import Json, Person

# What may change from one reading of an answer to the next: links are signed anew.
URLS = ("image_url", "video_url", "file_url", "data")
FINAL = ("completed", "incomplete", "failed")


def user(*contents: Json | str) -> Json:
    """A user's message; texts stand for contents of the type `text`."""
    parts = [{"type": "text", "text": each} if isinstance(each, str) else each for each in contents]
    return {"role": "user", "type": "message", "content": parts}


def assistant(text: str) -> Json:
    return {"role": "assistant", "type": "message", "content": [{"type": "text", "text": text}]}


def request(*contents: Json | str, **fields: Any) -> Json:
    return {"input": [user(*contents)], **fields}


def process(person: Person, agent: str | None, body: Json, **headers: str) -> "Answer":
    """The whole answer of `agent`, or without one of `/process`."""
    path = f"/agents/{agent}/process" if agent else "/process"
    answer = person.http.post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/event-stream"
    return Answer.of(events_of(answer.text))


def resumed(person: Person, response_id: str, last: str = "") -> "Answer":
    """What follows the event with the id `last`."""
    answer = person.http.get(f"/process/{response_id}", headers={"Last-Event-ID": last} if last else {})
    assert answer.status_code == 200, answer.text
    return Answer.of(events_of(answer.text))


def whole(person: Person, agent: str, body: Json) -> Json:
    """The response without a stream."""
    answer = person.http.post(f"/agents/{agent}/process", json={**body, "stream": False})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def events_of(stream: str) -> list[tuple[str, Json]]:
    """(id, document) of each event."""
    return list(events_in(iter(stream.split("\n"))))


def events_in(lines: Iterator[str]) -> Iterator[tuple[str, Json]]:
    event_id = ""
    for line in lines:
        if line.startswith("id: "):
            event_id = line[4:]
        elif line.startswith("data: "):
            yield event_id, json.loads(line[6:])


def some_events(answer: httpx2.Response, count: int) -> list[tuple[str, Json]]:
    """The first events of a stream, which is then left."""
    events = events_in(answer.iter_lines())
    return [next(events) for _ in range(count)]


@dataclass
class Answer:
    """The events of an answer, or of what is left of it after one of them."""

    ids: list[str] = field(default_factory=list)
    events: list[Json] = field(default_factory=list)

    @classmethod
    def of(cls, events: list[tuple[str, Json]]) -> "Answer":
        return cls([event_id for event_id, _ in events], [event for _, event in events])

    def __add__(self, more: "Answer") -> "Answer":
        return Answer(self.ids + more.ids, self.events + more.events)

    @property
    def response(self) -> Json:
        """The last event, which is the finished response."""
        assert self.events[-1]["object"] == "response"
        return self.events[-1]

    @property
    def id(self) -> str:
        return str(self.events[0]["id"])

    @property
    def text(self) -> str:
        """What the answer says in the end."""
        return str(self.response["output"][-1]["content"][0]["text"])

    def outline(self) -> list[tuple[str, ...]]:
        """Each event as (object, status), a message's and a content's with its type."""
        return [
            tuple(str(event[name]) for name in ("object", "type", "status") if name in event) for event in self.events
        ]

    def messages(self) -> list[Json]:
        return [each for each in self.events if each["object"] == "message" and each["status"] in FINAL]

    def steady(self) -> list[Json]:
        """The events as they are at each reading: without numbers, links, deltas and heartbeats."""
        kept = [event for event in self.events if not event.get("delta") and event.get("type") != "heartbeat"]
        return [_steady(event) for event in kept if (event["object"], event["status"]) != ("content", "in_progress")]

    def checked(self) -> "Answer":
        """Itself, after a look at what the protocol says of a whole answer."""
        check(self.events)
        return self


def _steady(value: Any) -> Any:
    if isinstance(value, list):
        return [_steady(each) for each in value]
    if not isinstance(value, dict):
        return value
    link = {name for name in URLS if isinstance(value.get(name), str)}
    return {
        name: _steady(each)
        for name, each in value.items()
        if name not in link | {"sequence_number", "created_at", "completed_at", "ignored"}
    }


def check(events: list[Json]) -> None:
    """An answer begins and ends with its response; numbers rise by one; every message is announced, then comes its
    content, then its end; deltas, and what takes their place, add up to the content that ends them."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [(event["object"], event["status"]) for event in events[:2]] == [
        ("response", "created"),
        ("response", "in_progress"),
    ]
    assert [event["object"] for event in events].count("response") == 3
    assert events[-1]["object"] == "response"
    assert events[-1]["status"] in ("completed", "failed", "canceled")
    messages: dict[str, Json] = {}
    for event in events:
        if event["object"] == "message" and event["type"] != "heartbeat":
            _check_message(messages, event)
        elif event["object"] == "content":
            _check_content(messages[event["msg_id"]], event)
    assert all(message["status"] in FINAL for message in messages.values())
    said = [message for message in messages.values() if "content" in message]
    assert sorted(map(str, events[-1]["output"])) == sorted(str(message["event"]) for message in said)


def _check_message(messages: dict[str, Json], event: Json) -> None:
    if event["status"] == "created":
        assert event["id"] not in messages
        messages[event["id"]] = {"status": "created", "contents": {}}
        return
    message = messages[event["id"]]
    assert message["status"] == "created"
    message["status"] = event["status"]
    if "content" in event:
        assert {each["index"]: each for each in event["content"]} == message["contents"]
        message["content"] = event["content"]
        message["event"] = {name: each for name, each in event.items() if name != "sequence_number"}


def _check_content(message: Json, event: Json) -> None:
    assert message["status"] == "created"
    index = event["index"]
    before = message["contents"].get(index)
    assert before is None or before["status"] == "in_progress"
    if event["delta"]:
        text = (before or {"text": ""})["text"] + event["text"]
        message["contents"][index] = {**event, "text": text}
        return
    if before is not None and event["status"] != "in_progress":
        assert event["text"] == before["text"]
    message["contents"][index] = {name: each for name, each in event.items() if name != "sequence_number"}
