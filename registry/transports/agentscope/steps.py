"""What an AgentApp does on the way to its answer, as steps: thoughts, calls of tools, what these said. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import orjson

from registry.transports.agentscope.answer import BETWEEN, Attachments
from registry.transports.agentscope.incoming import IncomingMessage, Kind
from registry.transports.agentscope.models import Content, DataContent, MessageType
from registry.transports.agentscope.parts import part_of
from registry.transports.base import EmbedRef, StepTaken
from registry.transports.wire import clean

# What concerns tools without calling one goes by a name of its own, with all that was said.
_NOT_CALLS = {
    MessageType.MCP_LIST_TOOLS: "mcp_list_tools",
    MessageType.MCP_APPROVAL_REQUEST: "mcp_approval",
    MessageType.MCP_APPROVAL_RESPONSE: "mcp_approval",
}
# Where the data of a call and of an output say what it is about.
_SAID = {"func_call": "arguments", "func_output": "output"}


class Steps:
    """Makes steps of messages. It remembers the names of called tools: outputs often have the call's id only."""

    def __init__(self, given: Mapping[str, EmbedRef]) -> None:
        """`given` are the embeds of the query."""
        self._given = given
        self._tools: dict[str, str] = {}

    def of(self, message: IncomingMessage) -> Iterator[StepTaken]:
        """The steps behind a message that is over: of a thought or a call or an output of tools."""
        contents = [slot.whole for slot in message.slots]
        steps: list[StepTaken] = []
        if message.kind is not Kind.THOUGHT:
            steps = [step for content in contents for step in self._of_data(message, _data_in(content))]
            contents = [content for content in contents if not _data_in(content)]
        # What is no data goes with the last step, as pictures do with what a tool gave back.
        last = steps.pop() if steps else StepTaken(_kind(message), "", self._tool(message, {}))
        last = self._with(last, contents)
        yield from steps
        if last.text or last.embeds:
            yield last

    def failed(self, message: IncomingMessage, words: str) -> StepTaken:
        """That a tool failed, which need not be the end of its agent."""
        return StepTaken("func_output", words, self._tool(message, {}))

    def _of_data(self, message: IncomingMessage, data: Mapping[str, Any]) -> Iterator[StepTaken]:
        if not data:
            return
        name, kind = self._tool(message, data), _kind(message)
        if message.type in _NOT_CALLS:
            yield StepTaken(kind, _words(data), name)
            return
        yield StepTaken(kind, _words(data.get(_SAID[kind], data)), name)
        if kind == "func_call":
            # A call of MCP may hold what came of it.
            came = (data[field] for field in ("output", "error") if data.get(field) is not None)
            yield from (StepTaken("func_output", _words(value), name) for value in came)

    def _tool(self, message: IncomingMessage, data: Mapping[str, Any]) -> str:
        if message.type in _NOT_CALLS:
            return _NOT_CALLS[MessageType(message.type)]
        call, said = data.get("call_id"), data.get("name")
        known = self._tools.get(call) if isinstance(call, str) else None
        name = clean(said) if isinstance(said, str) and said else known or _type(message)
        if isinstance(call, str):
            self._tools.setdefault(call, name)
        return name

    def _with(self, step: StepTaken, contents: list[Content]) -> StepTaken:
        """The step with these contents behind what it says."""
        attachments, text = Attachments(self._given), step.text
        for content in contents:
            part = part_of(content)
            words = part.text if part.embed is None else attachments.name_of(part, text)
            text = BETWEEN.join(filter(None, (text, words)))
        return replace(step, text=text, embeds=attachments.found)


def _data_in(content: Content) -> Mapping[str, Any]:
    return content.data or {} if isinstance(content, DataContent) else {}


def _kind(message: IncomingMessage) -> str:
    return {Kind.THOUGHT: "thought", Kind.CALL: "func_call"}.get(message.kind or Kind.OUTPUT, "func_output")


def _type(message: IncomingMessage) -> str:
    """What a tool without a name is called."""
    is_told = message.kind is not Kind.THOUGHT and message.type != MessageType.MESSAGE
    return clean(message.type) if is_told else ""


def _words(value: Any) -> str:
    return clean(value) if isinstance(value, str) else orjson.dumps(value).decode()
