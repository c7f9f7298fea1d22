"""A message of the Agent API protocol, put together from contents and their deltas."""

from typing import Annotated, Any, Self
from uuid import uuid4

from pydantic import Field

from registry.transports.agentscope.contents import AnyContent, Content, Error, Event
from registry.transports.agentscope.vocabulary import MessageType, RunStatus


class Message(Event):
    """What one role says. `type` tells what it is: an answer, a thought (`reasoning`), a call of a tool, an error.

    `code` and `message` are those of an error. `usage` counts the tokens that the message took.
    """

    id: str = Field(default_factory=lambda: f"msg_{uuid4()}")
    object: str = "message"
    type: str = MessageType.MESSAGE.value
    status: str | None = RunStatus.Created.value
    role: str | None = None
    content: Annotated[list[AnyContent], Field(fail_fast=True)] | None = None
    code: str | None = None
    message: str | None = None
    usage: dict[str, Any] | None = None

    def failed(self, error: Error) -> Self:
        self.code, self.message = error.code, error.message
        return super().failed(error)

    def add_delta_content(self, new_content: Content) -> Content:
        """Takes in the next piece of the content at its `index`; without one, it begins a content of its own.

        Returns the event to send: `new_content` with `msg_id`, `index`, and status in_progress.
        Raises ValueError where it is no delta, or none of a content of this message.
        """
        contents = self._contents()
        if new_content.index is None:
            new_content.index = len(contents)
            contents.append(new_content.model_copy(update={"delta": False, "msg_id": self.id}, deep=True).in_progress())
        elif not new_content.delta:
            raise ValueError(f"This is a whole content, no delta: add it with add_content ({new_content.type}).")
        else:
            self._at(new_content.index, new_content.type).extend(new_content)
        new_content.msg_id = self.id
        return new_content.in_progress()

    def content_completed(self, content_index: int) -> Content:
        """Marks the content at that place as complete. Returns the event to send: all of it.

        Raises ValueError where there is none.
        """
        content = self._at(content_index).completed()
        content.delta, content.index, content.msg_id = False, content_index, self.id
        return content.model_copy(deep=True)

    def add_content(self, new_content: Content) -> Content:
        """Adds a whole content: at its `index`, in the place of what was there, or without one as the last.

        Returns the event to send: `new_content` with `msg_id`, `index`, and status completed.
        Raises ValueError where places before it are empty.
        """
        contents = self._contents()
        place = len(contents) if new_content.index is None else new_content.index
        if not 0 <= place <= len(contents):
            raise ValueError(f"Content {place} cannot be added: the message has {len(contents)}.")
        new_content.index, new_content.msg_id, new_content.delta = place, self.id, False
        contents[place : place + 1] = [new_content.completed().model_copy(deep=True)]
        return new_content

    def _contents(self) -> list[AnyContent]:
        if self.content is None:
            self.content = []
        return self.content

    def _at(self, index: int, kind: str | None = None) -> Content:
        contents = self.content or []
        if not 0 <= index < len(contents):
            raise ValueError(f"The message has no content {index}; it has {len(contents)}.")
        content = contents[index]
        if kind is not None and content.type != kind:
            raise ValueError(f"Content {index} is of the type {content.type}; the delta is of the type {kind}.")
        return content
