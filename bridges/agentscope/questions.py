"""The messages of a request as a query of ours: its text, and what is attached to it."""

import mimetypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from common.errors import InvalidRequest
from common.texts import clean_text
from registry.transports.agentscope.models import (
    AudioContent,
    Content,
    DataContent,
    FileContent,
    ImageContent,
    Message,
    MessageType,
    RefusalContent,
    Role,
    TextContent,
    VideoContent,
)
from sessions_app.fetching import Offer

SPEAKERS = {Role.USER: "User", Role.ASSISTANT: "Assistant", Role.SYSTEM: "System"}
UNKNOWN_TYPE = "application/octet-stream"
# What callers write as the format of a sound, where its media type has another name.
SOUNDS = {"mp3": "mpeg", "m4a": "mp4", "pcm": "L16"}


@dataclass(frozen=True, slots=True)
class Attached:
    """Something to attach, and the field of the request that it stands in."""

    place: str
    offer: Offer


@dataclass(frozen=True, slots=True)
class Question:
    """A query. `text` names what is `attached` as `#KEY`."""

    text: str
    attached: dict[str, Attached]


class _Draft:
    """A question that is being put together."""

    def __init__(self, text: str = "") -> None:
        self._pieces = [text] if text else []
        self._attached: dict[str, Attached] = {}

    def speak(self, message: Message, place: str) -> None:
        """Adds the contents of a message."""
        for number, content in enumerate(message.content or ()):
            for part in _parts(content, f"{place}.content[{number}]"):
                self.say(part) if isinstance(part, str) else self._attach(part)

    def say(self, text: str) -> None:
        self._pieces.append(f"\n{text}" if self._pieces else text)

    def _attach(self, attached: Attached) -> None:
        # Letters, so that a `#1` in the caller's own text stays what it is.
        key = f"attached{len(self._attached) + 1}"
        self._attached[key] = attached
        self._pieces.append(f" #{key}" if self._pieces else f"#{key}")

    def question(self, *, field: str) -> Question:
        """Raises InvalidRequest or PayloadTooLarge, naming `field`."""
        return Question(clean_text("".join(self._pieces), field=field), self._attached)


def query_of(messages: Sequence[Message]) -> Question:
    """The last message, which has to be a user's. Raises InvalidRequest, PayloadTooLarge."""
    _check(messages)
    last = len(messages) - 1
    draft = _Draft()
    draft.speak(messages[last], f"input[{last}]")
    return draft.question(field=f"input[{last}].content")


def query_with_history(messages: Sequence[Message]) -> Question:
    """The same for an agent that has heard nothing of the earlier messages: they stand before it in its text."""
    draft = _Draft("This was said before:")
    for number, message in enumerate(messages[:-1]):
        draft.say(f"\n{SPEAKERS[Role(message.role or Role.USER)]}:")
        draft.speak(message, f"input[{number}]")
    draft.say("")
    draft.speak(messages[-1], f"input[{len(messages) - 1}]")
    return draft.question(field="input")


def _check(messages: Sequence[Message]) -> None:
    if not messages:
        raise InvalidRequest("input has no message.", field="input")
    for number, message in enumerate(messages):
        if message.type != MessageType.MESSAGE:
            why = f"Agents call their own tools here; leave out what is no message ({message.type[:100]})."
            raise InvalidRequest(why, field=f"input[{number}].type")
        if message.role not in (None, *SPEAKERS):
            why = "A role is user, assistant or system; agents call their own tools here."
            raise InvalidRequest(why, field=f"input[{number}].role")
    if messages[-1].role not in (None, Role.USER):
        place = f"input[{len(messages) - 1}].role"
        raise InvalidRequest("The last message is the query, and has to be a user's.", field=place)


def _parts(content: Content, place: str) -> Iterator[str | Attached]:
    """The texts of a content, and what it has to attach."""
    match content:
        case TextContent(text=text) | RefusalContent(refusal=text):
            yield text or ""
        case DataContent(data=data):
            yield _as_json(data, f"{place}.data")
        case ImageContent(image_url=uri):
            yield _at(uri, f"{place}.image_url")
        case VideoContent(video_url=uri):
            yield _at(uri, f"{place}.video_url")
        case AudioContent(data=data, format=form):
            kind = f"audio/{SOUNDS.get(form, form)}" if form else ""
            yield _in_base64(data, kind, f"{place}.data")
        case FileContent():
            yield _file(content, place)
        case _:
            message = f"There is no content of the type {content.type[:100]} that an agent could be handed."
            raise InvalidRequest(message, field=f"{place}.type")


def _as_json(data: dict[str, Any] | None, place: str) -> str:
    try:
        return orjson.dumps(data or {}).decode()
    except orjson.JSONEncodeError:  # which nests less deep than `loads` does
        raise InvalidRequest("The data is nested too deeply.", field=place) from None


def _file(content: FileContent, place: str) -> Attached:
    kind = mimetypes.guess_type(content.filename or "")[0] or ""
    if content.file_data:
        return _in_base64(content.file_data, kind or UNKNOWN_TYPE, f"{place}.file_data")
    if content.file_id:
        return Attached(f"{place}.file_id", Offer(id=content.file_id))
    return _at(content.file_url, f"{place}.file_url", kind)


def _in_base64(data: str | None, kind: str, place: str) -> Attached:
    """A file that is in the request itself, or a URL in its place."""
    if data and not data.startswith(("data:", "http://", "https://")):
        return _at(f"data:{kind or UNKNOWN_TYPE};base64,{data}", place, kind)
    return _at(data, place, kind)


def _at(uri: str | None, place: str, kind: str = "") -> Attached:
    if not uri:
        raise InvalidRequest("There is nothing to attach: the URL is missing.", field=place)
    return Attached(place, Offer(content_type=kind or None, uri=uri))
