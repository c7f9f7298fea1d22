"""The objects of the Agent API protocol: requests, responses, and all that they are made of.

Format: the Agent API Protocol Specification, with what the published `agentscope-runtime` 1.1.6 adds. Every object
keeps fields that it does not know, and may be asked for JSON with `model_dump_json(exclude_none=True)`. Wrong fields
raise `pydantic.ValidationError`, which is a ValueError.
"""

import time
from typing import Annotated, Any, Self
from uuid import uuid4

from pydantic import Field

from registry.transports.agentscope.contents import (
    AnyContent,
    AudioContent,
    Content,
    DataContent,
    Document,
    Error,
    Event,
    FileContent,
    ImageContent,
    RefusalContent,
    TextContent,
    VideoContent,
)
from registry.transports.agentscope.messages import Message
from registry.transports.agentscope.vocabulary import ContentType, MessageType, Role, RunStatus

__all__ = [
    "AgentRequest",
    "AgentResponse",
    "AnyContent",
    "AudioContent",
    "BaseRequest",
    "BaseResponse",
    "Content",
    "ContentType",
    "DataContent",
    "Error",
    "Event",
    "FileContent",
    "FunctionCall",
    "FunctionCallOutput",
    "FunctionParameters",
    "FunctionTool",
    "ImageContent",
    "Message",
    "MessageType",
    "RefusalContent",
    "Role",
    "RunStatus",
    "TextContent",
    "Tool",
    "VideoContent",
]


class FunctionParameters(Document):
    """A JSON Schema. `type` is `object`."""

    type: str
    properties: dict[str, Any]
    required: list[str] | None


class FunctionTool(Document):
    name: str
    description: str
    parameters: Annotated[dict[str, Any] | FunctionParameters, Field(union_mode="left_to_right")]


class Tool(Document):
    """A tool that the agent may use. `type` is `function`."""

    type: str | None = None
    function: FunctionTool | None = None


class FunctionCall(Document):
    """The data of a `function_call`. `arguments` are JSON as a language model wrote it: it need not be valid."""

    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None


class FunctionCallOutput(Document):
    """The data of a `function_call_output`: the answer to the call `call_id`."""

    call_id: str
    output: str


class BaseRequest(Document):
    input: list[Message]
    stream: bool = True


class AgentRequest(BaseRequest):
    """What an agent is asked: messages, oldest first, and wishes for its language model.

    `session_id` names the conversation. `user_id`, who is asking, is the published package's.
    """

    model: str | None = None
    top_p: float | None = None
    temperature: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    max_tokens: int | None = None
    stop: str | list[str] | None = None
    n: int | None = Field(default=1, ge=1, le=5)
    seed: int | None = None
    tools: list[Annotated[Tool | dict[str, Any], Field(union_mode="left_to_right")]] | None = None
    session_id: str | None = None
    response_id: str | None = None
    user_id: str | None = None


def _now() -> int:
    return int(time.time())


class BaseResponse(Event):
    """An answer as it stands. Times are Unix seconds."""

    id: str = Field(default_factory=lambda: f"response_{uuid4()}")
    object: str = "response"
    status: str | None = RunStatus.Created.value
    created_at: int = Field(default_factory=_now)
    completed_at: int | None = None
    output: Annotated[list[Message], Field(fail_fast=True)] | None = None
    usage: dict[str, Any] | None = None

    def completed(self) -> Self:
        """Sets `completed_at` as well."""
        self.completed_at = _now()
        return super().completed()


class AgentResponse(BaseResponse):
    session_id: str | None = None
