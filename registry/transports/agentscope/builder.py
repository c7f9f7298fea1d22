"""Builds the answer of an agent as events of the Agent API protocol, for agents written in Python.

    from registry.transports.agentscope.builder import ResponseBuilder

    response_builder = ResponseBuilder(session_id="session_123")
    for event in response_builder.generate_streaming_response(text_tokens=["Hello", "!"], role="assistant"):
        print(event)

Names, arguments and order are those of the protocol's specification. Every call that returns an event returns a copy
that later calls leave alone, with the next `sequence_number`: send it. `.response`, `.message` and `.content` are what
has been built so far. A call out of order raises ValueError and changes nothing.
"""

from collections.abc import Container, Iterable, Iterator
from itertools import count
from typing import TypeVar

from registry.transports.agentscope.content_builder import AContent, ContentBuilder
from registry.transports.agentscope.models import (
    AgentResponse,
    Content,
    ContentType,
    Error,
    Event,
    Message,
    MessageType,
    Role,
    RunStatus,
)

__all__ = ["ContentBuilder", "MessageBuilder", "ResponseBuilder"]

AnyEvent = TypeVar("AnyEvent", bound=Event)


class MessageBuilder:
    """Builds one message. Announce it with `created`, build its contents, and end it with `complete`.

    Get one from `create_message_builder`. It is part of the response from its first event.
    """

    def __init__(
        self,
        response_builder: "ResponseBuilder",
        role: str = Role.ASSISTANT,
        message_type: str = MessageType.MESSAGE,
        message_id: str | None = None,
    ) -> None:
        self.message = Message(role=role, type=message_type)
        if message_id is not None:
            self.message.id = message_id
        self.is_begun = False
        self._response = response_builder
        self._builders: dict[int, ContentBuilder] = {}
        self._contents: dict[int, Content] = {}

    def is_open(self) -> bool:
        return self.is_begun and self.message.status in (RunStatus.Created, RunStatus.InProgress)

    def created(self) -> Message:
        if self.is_begun:
            raise ValueError("created() comes once, before the contents of the message.")
        self._begin()
        return self.numbered(self.message)

    def create_content_builder(self, content_type: str = ContentType.TEXT, index: int | None = None) -> ContentBuilder:
        """A builder for the content at `index`, by default the next. Raises ValueError where there is one already."""
        self._check_open()
        place = _free({*self._builders, *self._contents}) if index is None else index
        _check_place(place)
        if place in self._spoken():
            raise ValueError(f"There is a content {place} already.")
        builder = self._builders[place] = ContentBuilder(self, content_type, place)
        return builder

    def add_content(self, content: Content) -> Content:
        """Adds a whole content: at its `index`, in the place of what was there, or without one as the next."""
        self._check_open()
        place = _free(self._spoken()) if content.index is None else content.index
        _check_place(place)
        if place in self._builders and self._builders[place].is_open():
            raise ValueError(f"Content {place} is still being built.")
        self._begin()
        whole = content.model_copy(update={"index": place, "msg_id": self.message.id, "delta": False}, deep=True)
        return self.keep(whole.completed())

    def complete(self) -> Message:
        """Ends the message. The event has all of its contents."""
        self._check_open()
        for place in range(max(self._spoken(), default=-1) + 1):
            if place not in self._contents:
                raise ValueError(f"Content {place} of the message is not complete.")
        self._begin()
        return self.numbered(self.message.completed())

    def break_off(self) -> None:
        """Ends a message before its time, with what has been said so far."""
        if self.is_open():
            broken = {place: builder.break_off() for place, builder in self._builders.items() if builder.is_open()}
            self._fill(self._contents | broken)
            self.message.incomplete()

    def begin(self, builder: ContentBuilder) -> None:
        """Called by a content builder that has something to say."""
        self._check_open()
        place = builder.index
        is_replaced = self._builders.setdefault(place, builder) is not builder or place in self._contents
        if is_replaced and not builder.is_begun:
            raise ValueError(f"There is a content {place} already.")
        self._begin()
        self.message.in_progress()

    def keep(self, content: AContent) -> AContent:
        """Makes a complete content part of the message, and returns its event."""
        assert content.index is not None
        self._fill(self._contents | {content.index: content})
        self.message.in_progress()
        return self.numbered(content)

    def numbered(self, event: AnyEvent) -> AnyEvent:
        return self._response.numbered(event)

    def _spoken(self) -> set[int]:
        return {*self._contents, *(place for place, builder in self._builders.items() if builder.is_begun)}

    def _fill(self, contents: dict[int, Content]) -> None:
        self._contents = dict(sorted(contents.items()))
        self.message.content = list(self._contents.values())

    def _begin(self) -> None:
        if not self.is_begun:
            self._response.begin(self)
            self.is_begun = True

    def _check_open(self) -> None:
        if self.is_begun and not self.is_open():
            raise ValueError("The message has ended.")


class ResponseBuilder:
    """Builds a response: `created`, `in_progress`, its messages, `completed`.

    Who only wants the response, not its stream, may begin with the first message. `failed`, `rejected` and `canceled`
    end it at any time: messages that are still open become `incomplete`, with what they have said so far.
    """

    response: AgentResponse
    # None: nothing has been said of it yet.
    _stage: RunStatus | None

    def __init__(self, session_id: str | None = None, response_id: str | None = None) -> None:
        self.session_id = session_id
        self._begin_anew(response_id)

    def created(self) -> AgentResponse:
        if self._stage is not None:
            raise ValueError("created() comes first, and once.")
        return self._entered(RunStatus.Created, self.response.created())

    def in_progress(self) -> AgentResponse:
        if self._stage != RunStatus.Created:
            raise ValueError("in_progress() comes right after created().")
        return self._entered(RunStatus.InProgress, self.response.in_progress())

    def completed(self) -> AgentResponse:
        """Ends the response. The event has all of its messages."""
        if self._stage != RunStatus.InProgress:
            raise ValueError("completed() comes after in_progress(), and once.")
        if unfinished := next((message for message in self._messages if message.is_open()), None):
            raise ValueError(f"The message {unfinished.message.id} is not complete.")
        return self._entered(RunStatus.Completed, self.response.completed())

    def failed(self, error: Error) -> AgentResponse:
        self._break_off()
        return self._entered(RunStatus.Failed, self.response.failed(error))

    def rejected(self) -> AgentResponse:
        self._break_off()
        return self._entered(RunStatus.Rejected, self.response.rejected())

    def canceled(self) -> AgentResponse:
        self._break_off()
        return self._entered(RunStatus.Canceled, self.response.canceled())

    def create_message_builder(
        self,
        role: str = Role.ASSISTANT,
        message_type: str = MessageType.MESSAGE,
        message_id: str | None = None,
    ) -> MessageBuilder:
        """A builder for the next message. Without `message_id` it gets a fresh one."""
        self._check_ready()
        return MessageBuilder(self, role, message_type, message_id)

    def generate_streaming_response(self, text_tokens: Iterable[str], role: str = Role.ASSISTANT) -> Iterator[Event]:
        """All events of a response that is one message with one text, which comes token by token.

        A builder that has been used before begins a new response.
        """
        if self._stage is not None:
            self._begin_anew(None)
        yield self.created()
        yield self.in_progress()
        message = self.create_message_builder(role)
        yield message.created()
        text = message.create_content_builder()
        for token in text_tokens:
            yield text.add_text_delta(token)
        yield text.complete()
        yield message.complete()
        yield self.completed()

    def begin(self, builder: MessageBuilder) -> None:
        """Called by a message builder that has something to say."""
        self._check_ready()
        if self._stage is None:
            self._stage = RunStatus.InProgress
            self.response.in_progress()
        self._messages.append(builder)
        self._output.append(builder.message)

    def numbered(self, event: AnyEvent) -> AnyEvent:
        """A copy of `event` with the next number."""
        return event.model_copy(update={"sequence_number": next(self._numbers)}, deep=True)

    def _begin_anew(self, response_id: str | None) -> None:
        self._output: list[Message] = []
        self.response = AgentResponse(session_id=self.session_id)
        self.response.output = self._output
        if response_id is not None:
            self.response.id = response_id
        self._messages: list[MessageBuilder] = []
        self._numbers = count()
        self._stage = None

    def _entered(self, stage: RunStatus, response: AgentResponse) -> AgentResponse:
        self._stage = stage
        return self.numbered(response)

    def _check_open(self) -> None:
        if self._stage not in (None, RunStatus.Created, RunStatus.InProgress):
            raise ValueError("The response has ended.")

    def _check_ready(self) -> None:
        self._check_open()
        if self._stage == RunStatus.Created:
            raise ValueError("in_progress() comes before the first message.")

    def _break_off(self) -> None:
        self._check_open()
        for message in self._messages:
            message.break_off()


def _free(taken: Container[int]) -> int:
    return next(place for place in count() if place not in taken)


def _check_place(place: int) -> None:
    if place < 0:
        raise ValueError("`index` counts from 0.")
