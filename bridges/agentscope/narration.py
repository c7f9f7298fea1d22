"""One answer as the protocol's events, told from the frames of its session. Pure: no network, no database, no clock."""

from collections.abc import Iterator
from dataclasses import dataclass

from bridges.agentscope.positions import START, Position, Written
from bridges.agentscope.steps import TYPES, Steps, embed_contents, whole_message
from registry.transports.agentscope.models import (
    AgentResponse,
    Content,
    Error,
    Event,
    Message,
    MessageType,
    Role,
    TextContent,
)
from sessions_app.frames import Frame
from sessions_app.llm.base import Usage
from sessions_app.runner.live import grown

STOPPED = "The query was stopped."


@dataclass(frozen=True, slots=True)
class Told:
    """An event, and the place behind it."""

    event: Event
    place: Position


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: `completed`, `failed` or `canceled`. `finished` is in Unix seconds."""

    status: str
    error_code: str
    used: Usage
    finished: int


class Narrator:
    """Tells the answer of one run: `begin`, then `take` for every frame of the run and of those below it, then `end`.

    A reader who comes back at a `place` is told only what lies behind it; the frames must be those from the beginning.
    """

    def __init__(self, run: str, response: AgentResponse, place: Position = START) -> None:
        self.response = response
        self._run = run
        self._place = place
        self._answer_id = f"msg_{run}"
        self._steps = Steps()
        self._output: list[Message] = []
        self._told = 0
        self._is_at_work = False
        self._written = Written(place.length, place.checksum)
        self._text = ""
        self._said: Frame | None = None
        self._error = ""

    def begin(self) -> Iterator[Told]:
        yield from self._tell(self.response.model_copy().created())

    def start(self) -> Iterator[Told]:
        """The run's turn has come."""
        if not self._is_at_work:
            self._is_at_work = True
            yield from self._tell(self.response.in_progress().model_copy())

    def take(self, frame: Frame) -> Iterator[Told]:
        """What a frame brings. What the run said last is told at its end, which alone tells what to make of it."""
        if frame["type"] == "run" and frame["status"] != "in_progress":
            return
        yield from self.start()
        if frame["type"] == "message":
            yield from self._take_message(frame["message"])
        elif frame["type"] != "run":
            self._text = grown(self._text, frame)
            if self._text:
                yield from self._write(self._text)

    def end(self, ending: Ending) -> Iterator[Told]:
        """The end of the answer, of what went wrong, and of the response."""
        yield from self.start()
        yield from self._end_answer(is_complete=ending.status == "completed")
        code = ending.error_code or ending.status
        if ending.status == "failed":
            yield from self._tell_failure(Error(code=code, message=self._error or "The query failed."))
        response = self.response
        if ending.status != "completed":
            response.error = Error(code=code, message=self._error or STOPPED)
        asked, said = ending.used.prompt_tokens, ending.used.completion_tokens
        response.usage = {"input_tokens": asked, "output_tokens": said, "total_tokens": asked + said}
        response.output, response.status, response.completed_at = self._output, ending.status, ending.finished
        yield from self._tell(response)

    def heartbeat(self) -> Told:
        """Something to read for a client that hears nothing else."""
        message_id = f"msg_heartbeat_{self._place.number + 1}"
        beat = Message(id=message_id, type=MessageType.HEARTBEAT.value, role=Role.ASSISTANT.value)
        return self._next(beat.completed())

    def _take_message(self, message: Frame) -> Iterator[Told]:
        is_own = message["run"] == self._run
        if is_own and message["kind"] == "response":
            self._said = message
        elif is_own and message["kind"] == "error":
            self._error = message["text"]
        elif message["kind"] in TYPES:
            yield from self._tell_step(self._steps.message(message))

    def _tell_step(self, message: Message) -> Iterator[Told]:
        self._output.append(message)
        yield from self._tell(_announced(message))
        for content in message.content or ():
            yield from self._tell(content)
        yield from self._tell(message)

    def _tell_failure(self, error: Error) -> Iterator[Told]:
        contents: list[Content] = [TextContent(text=error.message)]
        message = whole_message(f"{self._answer_id}_error", contents, kind=MessageType.ERROR, agent=None)
        message.code, message.message, message.status = error.code, error.message, "failed"
        yield from self._tell_step(message)

    def _write(self, text: str, *, is_whole: bool = False) -> Iterator[Told]:
        """Brings the reader up to `text`, the answer as far as it is written."""
        if self._place.answered == 0:
            yield from self._tell_answer(0, Message(id=self._answer_id, role=Role.ASSISTANT.value).created())
        if self._place.answered > 1:
            return
        content = TextContent(index=0, msg_id=self._answer_id, delta=True).in_progress()
        piece = self._written.grow(text, is_whole=is_whole)
        if piece is None:  # it does not go on where it was: all of it, in the place of what the reader has
            self._written.replace(text)
            content.text, content.delta = text, False
        elif piece:
            content.text = piece
        if content.text is not None:
            yield self._next(content, length=self._written.length, checksum=self._written.checksum)

    def _end_answer(self, *, is_complete: bool) -> Iterator[Told]:
        """What the run said, as far as it got; nothing where it has said nothing."""
        if self._said is None:
            if self._place.answered == 1:
                broken = Message(id=self._answer_id, role=Role.ASSISTANT.value).incomplete()
                yield from self._tell_answer(1, broken)
            return
        contents: list[Content] = [TextContent(text=self._said["text"]), *embed_contents(self._said["embeds"])]
        agent = self._said["agent"]
        message = whole_message(self._answer_id, contents, kind=MessageType.MESSAGE, agent=agent)
        if not is_complete:
            message.incomplete()
            contents[0].incomplete()
        yield from self._write(self._said["text"], is_whole=True)
        for number, event in enumerate([*contents, message], start=1):
            yield from self._tell_answer(number, event)
        self._output.append(message)

    def _tell(self, event: Event) -> Iterator[Told]:
        """The next event of the response and its steps."""
        self._told += 1
        if self._told > self._place.told:
            yield self._next(event, told=self._told)

    def _tell_answer(self, number: int, event: Event) -> Iterator[Told]:
        """Event `number` of the answer, unless the reader has it."""
        if number >= self._place.answered:
            yield self._next(event, answered=number + 1)

    def _next(self, event: Event, **reached: int) -> Told:
        """The event with the next number; `reached` is what changes of the place behind it."""
        self._place = self._place._replace(number=self._place.number + 1, **reached)
        return Told(event.model_copy(update={"sequence_number": self._place.number}), self._place)


def _announced(message: Message) -> Message:
    return message.model_copy(update={"content": None, "code": None, "message": None}).created()
