"""What an AgentApp is sent: where it takes queries, and an AgentRequest with the session so far and the query."""

import mimetypes
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

from registry.transports import wire
from registry.transports.agentscope.models import (
    AgentRequest,
    AudioContent,
    Content,
    FileContent,
    ImageContent,
    Message,
    Role,
    TextContent,
    VideoContent,
)
from registry.transports.agentscope.parts import KEY
from registry.transports.base import AgentMessage, Call, Deployment, EmbedRef

# Where a published AgentApp takes queries unless it is told otherwise.
PROCESS = "/process"
# The option of a deployment that holds the path, below its target, where it was found to take them.
PROCESS_OPTION = "process"


def process_url(deployment: Deployment) -> str:
    """Where the app takes queries: what it said of itself, else `/process` below an address that is a root.

    An address with a path, such as one that ends in `/process`, is taken as it is. Its query string stays.
    """
    parts = urlsplit(deployment.target)
    below = deployment.options.get(PROCESS_OPTION) or ("" if parts.path.rpartition("/")[2] else PROCESS)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}{below}" if below else parts.path))


def headers_of(call: Call) -> dict[str, str]:
    return {**wire.headers_of(call), "accept": "text/event-stream, application/json;q=0.5"}


def request_of(call: Call) -> bytes:
    """The AgentRequest of a call. Raises nothing: what an app cannot know of a query stays out."""
    request = AgentRequest(
        input=[*_history_of(call), _message(Role.USER, *_contents_of(call.message))],
        stream=True,
        n=None,
        session_id=call.session or None,
        user_id=call.user or None,
    )
    return request.model_dump_json(exclude_none=True).encode()


def _history_of(call: Call) -> Iterator[Message]:
    for exchange in call.history:
        yield _message(Role.USER, TextContent(text=exchange.query))
        yield _message(Role.ASSISTANT, TextContent(text=exchange.answer))


def _message(role: Role, *contents: Content) -> Message:
    return Message(role=role.value, content=list(contents)).completed()


def _contents_of(message: AgentMessage) -> Iterator[Content]:
    """The text, then its embeds, each with the key by which the text names it."""
    yield TextContent(text=message.text)
    for key, embed in message.embeds.items():
        yield _embed(key, embed).model_copy(update={KEY: key})


def _embed(key: str, embed: EmbedRef) -> Content:
    essence = embed.content_type.partition(";")[0].strip().lower()
    kind, _, subtype = essence.partition("/")
    match kind:
        case "image":
            return ImageContent(image_url=embed.uri)
        case "audio":
            return AudioContent(data=embed.uri, format=subtype)
        case "video":
            return VideoContent(video_url=embed.uri)
    return FileContent(file_url=embed.uri, filename=f"{key}{mimetypes.guess_extension(essence) or ''}")
