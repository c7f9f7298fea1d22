"""What callers send: read, bounded, and each field honoured or refused by its name."""

import asyncio
import re
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest
from pydantic import Field, ValidationError

from bridges.agentscope.questions import Question, query_of, query_with_history
from common.errors import InvalidRequest, PayloadTooLarge
from registry.transports.agentscope.models import AgentRequest, Message

# Agents decide these themselves. Values that change nothing are taken.
AGENTS_OWN: dict[str, tuple[Any, ...]] = {
    "temperature": (None, 1),
    "top_p": (None, 1),
    "frequency_penalty": (None, 0),
    "presence_penalty": (None, 0),
    "max_tokens": (None,),
    "stop": (None, "", []),
    "seed": (None,),
    "n": (None, 1),
    "tools": (None, []),
}
# Stands in addresses; `task` is one of its own.
RESPONSE_ID = re.compile(r"(?!task$)[A-Za-z0-9_.:-]{1,200}")
NAMES_TOLD = 20
# Messages of a request, and contents of all of them.
INPUT_MAX = 1000
# Objects, lists and fields of a body, of which a few bytes each make a hundred in memory. Marks in texts count too.
MARKS = b"{[:"
MARKS_MAX = 200_000
# Bytes of a body that are read in no time. Larger ones are read in a thread, while others are served.
AT_ONCE_BYTES = 64 * 1024


class ProcessRequest(AgentRequest):
    """What is sent to `/process`: `id` is another name for `response_id`, which the published package uses."""

    # One error is told; to gather those of a large body takes seconds and gigabytes.
    input: list[Message] = Field(fail_fast=True)
    id: str | None = None
    session_id: str | None = Field(default=None, max_length=200)
    user_id: str | None = Field(default=None, max_length=200)
    cancel_on_disconnect: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that can be answered.

    `query` is what a session is asked that knows what was said before. `ignored` names the fields that were read and
    change nothing.
    """

    messages: list[Message]
    query: Question
    stream: bool
    session_id: str
    user_id: str
    response_id: str | None
    cancel_on_disconnect: bool
    ignored: list[str]

    def whole(self) -> Question:
        """The query, and the earlier messages along with it. Raises InvalidRequest or PayloadTooLarge."""
        return query_with_history(self.messages) if len(self.messages) > 1 else self.query


async def asked(request: HttpRequest) -> Asked:
    """The request in the body. Raises InvalidRequest or PayloadTooLarge, naming the field."""
    limit = settings.AGENT_API_MAX_BYTES
    # `request.body` has another limit.
    content = request.read(limit + 1)
    if len(content) > limit:
        raise PayloadTooLarge(f"A body may have {limit} bytes.", field="body", limit=limit)
    return _read(content) if len(content) <= AT_ONCE_BYTES else await asyncio.to_thread(_read, content)


def _read(content: bytes) -> Asked:
    document = _document(content)
    _check_size(document)
    _check_wishes(document)
    try:
        said = ProcessRequest.model_validate({name: document[name] for name in _known(document)})
    except ValidationError as error:
        raise _refusal(error, document) from None
    return Asked(
        messages=said.input,
        query=query_of(said.input),
        stream=said.stream,
        session_id=said.session_id or "",
        user_id=said.user_id or "",
        response_id=_response_id(said),
        cancel_on_disconnect=said.cancel_on_disconnect,
        ignored=_ignored(said, document),
    )


def _document(content: bytes) -> dict[str, Any]:
    if sum(content.count(mark) for mark in MARKS) > MARKS_MAX:
        why = f"A body may have {MARKS_MAX} objects, lists and fields in all."
        raise PayloadTooLarge(why, field="body", limit=MARKS_MAX)
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise InvalidRequest("The body is not JSON.", field="body") from None
    if not isinstance(document, dict):
        raise InvalidRequest("The body is no JSON object.", field="body")
    return document


def _check_size(document: dict[str, Any]) -> None:
    """Counts before anything is made of the document: what is cheap to send must not be dear to read."""
    messages = document.get("input")
    if not isinstance(messages, list):
        return
    lists = (message.get("content") for message in messages if isinstance(message, dict))
    contents = sum(len(each) for each in lists if isinstance(each, list))
    if max(len(messages), contents) > INPUT_MAX:
        why = f"input may have {INPUT_MAX} messages, and so many contents in all of them."
        raise PayloadTooLarge(why, field="input", limit=INPUT_MAX)


def _check_wishes(document: dict[str, Any]) -> None:
    for name, neutral in AGENTS_OWN.items():
        if document.get(name) not in neutral:
            raise InvalidRequest(f"{name} is the agent's own to decide; leave it out.", field=name)


def _known(document: dict[str, Any]) -> set[str]:
    return document.keys() & ProcessRequest.model_fields.keys()


def _response_id(said: ProcessRequest) -> str | None:
    name = "response_id" if said.response_id else "id"
    value = said.response_id or said.id or None
    if value is not None and not RESPONSE_ID.fullmatch(value):
        raise InvalidRequest(f"{name} has 1 to 200 letters, digits, _ . : or -, and is not `task`.", field=name)
    return value


def _ignored(said: ProcessRequest, document: dict[str, Any]) -> list[str]:
    model = ["model"] if said.model else []
    others = nsmallest(NAMES_TOLD - len(model), document.keys() - _known(document))
    return [*model, *(name[:100] for name in others)]


def _refusal(error: ValidationError, document: dict[str, Any]) -> InvalidRequest:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    field = _field(first["loc"], document)
    return InvalidRequest(f"{field}: {first['msg']}.", field=field)


def _field(place: tuple[int | str, ...], document: Any) -> str:
    """`("input", 0, "content", 1, "image", "image_url")` → `input[0].content[1].image_url`: a caller knows no tags."""
    path, here = "", document
    for number, part in enumerate(place):
        if isinstance(part, int):
            path, here = f"{path}[{part}]", here[part]
        elif isinstance(here, dict) and (part in here or number == len(place) - 1):
            path, here = f"{path}.{part}", here.get(part)
    return path.removeprefix(".") or "body"
