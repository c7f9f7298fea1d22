"""From the bytes that an AgentApp sends to objects of the Agent API protocol. No network here.

Strangers write them: what they say that the protocol has no word for is passed over, and an `error` that is a mere
text, as the published server sends it, is read as one.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from common.errors import AgentFailed, AgentInvalidResponse, FixieError
from registry.transports import wire
from registry.transports.agentscope.codec import SseReader
from registry.transports.agentscope.models import AgentResponse, AnyContent, Event, Message, RunStatus

# Of one document; models of more than these are not even made.
MAX_MESSAGES, MAX_CONTENTS, MAX_CONTENTS_IN_ALL = 5000, 1000, 5000
# What code raises that meets data of strangers which is nested too deeply, or numbers of more than 64 bits.
STRANGE = (TypeError, RecursionError, OverflowError)
STRANGE_WORDS = "The agent's answer has data in it that is nested too deeply, or numbers that are too large."

_CONTENT: TypeAdapter[Event] = TypeAdapter(AnyContent)
_OBJECTS: dict[str, TypeAdapter[Event]] = {
    "response": TypeAdapter(AgentResponse),
    "message": TypeAdapter(Message),
    "content": _CONTENT,
}


class EventStream:
    """The objects of a stream of server-sent events, which comes in pieces cut anywhere."""

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes` bound one event."""
        self._reader = SseReader(max_bytes)
        self._seen: set[int] = set()

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """The objects that `chunk` completes; one that is sent again is passed over.

        Raises AgentInvalidResponse, and AgentFailed for an error that belongs to no object.
        """
        return self._events(self._reader.feed(chunk))

    def finish(self) -> Iterator[Event]:
        """The last one, where no blank line ended it. Raises as `feed`."""
        return self._events(self._reader.finish())

    def _events(self, frames: Iterator[bytes]) -> Iterator[Event]:
        for data in frames:
            document = _object_in(data)
            if not self._is_repeated(document, data) and (event := _event_of(document)) is not None:
                yield event

    def _is_repeated(self, document: dict[str, Any], data: bytes) -> bool:
        """Only where it is numbered: else it may say the same word twice."""
        if document.get("sequence_number") is None:
            return False
        key = hash(data)
        is_repeated = key in self._seen
        self._seen.add(key)
        return is_repeated


def response_in(body: bytes) -> AgentResponse:
    """The answer of a server that does not stream: one AgentResponse, completed unless it says otherwise.

    Raises as `EventStream.feed`.
    """
    event = _event_of({"object": "response", "status": RunStatus.Completed.value, **_object_in(body)})
    if not isinstance(event, AgentResponse):
        raise AgentInvalidResponse("The agent's answer is no response of the Agent API protocol.")
    return event


def failure_of(status: int, body: bytes) -> FixieError:
    """The error behind an answer with an error status: `wire.failure_of`, for the documents of FastAPI as well.

    Those are `{"detail": a text}` and `{"detail": [{"loc", "msg"}]}`.
    """
    try:
        return wire.failure_of(status, _plain(body))
    except STRANGE:
        return wire.failure_of(status, b"")


def _plain(body: bytes) -> bytes:
    """`body` in the form of an AgentApp's own errors, where it has words for us in another."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return body
    if isinstance(document, dict) and not isinstance(document.get("error"), dict) and (words := _words_in(document)):
        return orjson.dumps({"error": {"message": words}})
    return body


def _words_in(document: dict[str, Any]) -> str:
    detail = document.get("detail")
    if isinstance(detail, list):
        return " ".join(_problem(one) for one in detail if isinstance(one, dict))
    return next(
        (text for text in (detail, document.get("error"), document.get("message")) if isinstance(text, str)), ""
    )


def _problem(one: dict[str, Any]) -> str:
    place = one.get("loc")
    path = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{path}: {one.get('msg')}." if path else f"{one.get('msg')}."


def _object_in(data: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        raise AgentInvalidResponse("The agent's answer is not JSON.") from None
    if not isinstance(document, dict):
        raise AgentInvalidResponse("What the agent sends is not a JSON object.")
    return document


def _event_of(document: dict[str, Any]) -> Event | None:
    """None for an object that the protocol does not have. Raises AgentInvalidResponse, AgentFailed."""
    try:
        _mend_all(document)
    except STRANGE:
        raise AgentInvalidResponse(STRANGE_WORDS) from None
    kind = document.get("object")
    adapter = _OBJECTS.get(kind) if isinstance(kind, str) else None
    if adapter is None:
        if error := document.get("error"):
            raise AgentFailed(error["message"], error=error)
        return None
    try:
        return adapter.validate_python(document)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))[:200]
        raise AgentInvalidResponse(
            f"The field `{field}` in the agent's {document['object']} is wrong: {first['msg']}.", field=field
        ) from None


def _mend_all(document: dict[str, Any]) -> None:
    """Mends a document, its messages and their contents. Raises AgentInvalidResponse where there are too many of these.

    They are counted before anything is made of them: an event has room for half a million.
    """
    messages = _parts(document, "output", MAX_MESSAGES, "messages")
    contents = [_parts(one, "content", MAX_CONTENTS, "contents in a message") for one in (document, *messages)]
    _check(sum(map(len, contents)), MAX_CONTENTS_IN_ALL, "contents")
    for part in (document, *messages, *chain.from_iterable(contents)):
        if isinstance(part, dict):
            _mend(part)


def _parts(whole: Any, field: str, most: int, name: str) -> list[Any]:
    parts = whole.get(field) if isinstance(whole, dict) else None
    if not isinstance(parts, list):
        return []
    _check(len(parts), most, name)
    return parts


def _check(count: int, most: int, name: str) -> None:
    if count > most:
        raise AgentInvalidResponse(f"An event of the agent's answer has more than {most} {name}.", max_parts=most)


def _mend(document: dict[str, Any]) -> None:
    """Makes the `error` of an object an object with the texts `code` and `message`, bounded and storable.

    Fields that are null are taken out: they count as absent.
    """
    for field in [field for field, value in document.items() if value is None]:
        del document[field]
    if error := document.get("error"):
        said = error if isinstance(error, dict) else {"message": error}
        document["error"] = {
            "code": _text(said.get("code")),
            "message": _text(said.get("message")) or "The agent failed.",
        }


def _text(value: Any) -> str:
    return "" if value is None else wire.clean(str(value))[: wire.MAX_ERROR_TEXT]
