"""Stored messages of a session as messages of the protocol. Pure."""

from typing import Any

import orjson

from registry.transports.agentscope.models import (
    AudioContent,
    Content,
    DataContent,
    FileContent,
    ImageContent,
    Message,
    MessageType,
    Role,
    TextContent,
    VideoContent,
)
from sessions_app.frames import Frame
from sessions_app.llm.format import Line, read_step

# What a step of a run, or of one below it, is to the protocol. An `error` is here one that another agent answers with.
TYPES = {
    "thought": MessageType.REASONING,
    "func_call": MessageType.FUNCTION_CALL,
    "func_output": MessageType.FUNCTION_CALL_OUTPUT,
    "agent_call": MessageType.PLUGIN_CALL,
    "agent_output": MessageType.PLUGIN_CALL_OUTPUT,
    "error": MessageType.PLUGIN_CALL_OUTPUT,
}
CALLS = ("func_call", "agent_call")


class Steps:
    """The steps of one answer, in their order; an output has the `call_id` of the call that it answers."""

    def __init__(self) -> None:
        # Of each run the calls of Funcs without an answer yet, as (name, id).
        self._open: dict[str, list[tuple[str, str]]] = {}
        self._agents: dict[str, str] = {}

    def message(self, step: Frame) -> Message:
        """The step, complete, its attachments as contents behind it."""
        kind, line = step["kind"], read_step(step["text"])
        contents = [self._content(step, line), *embed_contents(step["embeds"])]
        return whole_message(
            f"msg_{step['run']}_{step['seq']}",
            contents,
            kind=TYPES[kind],
            role=Role.TOOL if kind.endswith("output") or kind == "error" else Role.ASSISTANT,
            agent=step["agent"],
        )

    def _content(self, step: Frame, line: Line) -> Content:
        if step["kind"] == "thought":
            return TextContent(text=line.text)
        name, call_id = self._call(step, line)
        if step["kind"] in CALLS:
            return DataContent(data={"call_id": call_id, "name": name, "arguments": _arguments(line.text)})
        return DataContent(data={"call_id": call_id, "name": name, "output": line.text})

    def _call(self, step: Frame, line: Line) -> tuple[str, str]:
        """The name of what is called, or answers, and the id of the call."""
        kind, run = step["kind"], step["run"]
        if kind in ("agent_call", "agent_output", "error"):  # the run below is the call
            name = self._agents.setdefault(run, line.name)
            return name, f"call_{run}"
        waiting = self._open.setdefault(run, [])
        call_id = f"call_{run}_{step['seq']}"
        if kind == "func_call":
            waiting.append((line.name, call_id))
            return line.name, call_id
        place = next((place for place, (name, _) in enumerate(waiting) if name == line.name), None)
        return line.name, call_id if place is None else waiting.pop(place)[1]


def whole_message(
    message_id: str, contents: list[Content], *, kind: str, role: str = Role.ASSISTANT, agent: str | None
) -> Message:
    """A complete message. `agent` is who says it, null where it is gone."""
    for index, content in enumerate(contents):
        content.index, content.msg_id = index, message_id
        content.completed()
    message = Message(id=message_id, type=str(kind), role=str(role), content=contents)
    return message.model_copy(update={"metadata": {"agent": agent}}).completed()


def embed_contents(embeds: Frame) -> list[Content]:
    """The embeds of a message, in the order of their keys; `key` is what `#KEY` in its text names."""
    return [_embed_content(embed).model_copy(update={"key": key}) for key, embed in embeds.items()]


def _embed_content(embed: dict[str, Any]) -> Content:
    uri = embed["uri"]
    kind, _, form = embed["content_type"].partition(";")[0].partition("/")
    match kind:
        case "image":
            return ImageContent(image_url=uri)
        case "audio":
            return AudioContent(data=uri, format="mp3" if form == "mpeg" else form)
        case "video":
            return VideoContent(video_url=uri)
    return FileContent(file_url=uri, file_id=embed["id"])


def _arguments(text: str) -> str:
    """What a call hands over, as JSON: an object stays as it is, anything else is a text."""
    try:
        is_object = isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        is_object = False
    return text if is_object else orjson.dumps({"text": text}).decode()
