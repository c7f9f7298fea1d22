"""Reads the answer of an AgentApp: objects of the Agent API protocol in, the events of a transport out. Pure.

docs/agent-api.md has the mapping as a table.
"""

from collections.abc import Iterator, Mapping

from common.errors import AgentFailed, AgentInvalidResponse
from registry.transports.agentscope.answer import BETWEEN, Answer, Attachments, Block
from registry.transports.agentscope.documents import MAX_MESSAGES, STRANGE, STRANGE_WORDS
from registry.transports.agentscope.incoming import IncomingMessage, Kind, Slot
from registry.transports.agentscope.models import (
    AgentResponse,
    Content,
    Event,
    Message,
    RefusalContent,
    RunStatus,
    TextContent,
)
from registry.transports.agentscope.parts import part_of
from registry.transports.agentscope.steps import Steps
from registry.transports.agentscope.usage import Tally
from registry.transports.base import AgentMessage, EmbedRef, Reply, StepTaken
from registry.transports.base import Event as Told
from registry.transports.wire import MAX_ERROR_TEXT, clean

STOPPED_EARLY = "The agent stopped before its answer was complete."
_ENDED: tuple[str, ...] = (RunStatus.Completed, RunStatus.Incomplete)
_FAILED: dict[str, str] = {
    RunStatus.Failed: "The agent failed.",
    RunStatus.Rejected: "The agent rejected the query.",
    RunStatus.Canceled: "The agent canceled its answer.",
    RunStatus.Unknown: "The agent does not know what became of its answer.",
}


class AnswerReader:
    """Reads one answer. Give it the objects as they come; `is_over` once it has yielded the Reply.

    Whenever there are no more to take for now, `catch_up`: text that changes, and does not only grow, is told there.
    """

    def __init__(self, given: Mapping[str, EmbedRef], max_bytes: int) -> None:
        """`given` are the embeds of the query; `max_bytes` bound the answer's text."""
        self.is_over = False
        self._messages: dict[str, IncomingMessage] = {}
        self._latest = ""
        self._answer = Answer(max_bytes)
        self._attachments = Attachments(given)
        self._steps = Steps(given)
        self._tally = Tally()
        self._stopped = ""

    def take(self, event: Event) -> Iterator[Told]:
        """What `event` brings; nothing after the Reply.

        Raises AgentFailed where it says that the agent failed, AgentInvalidResponse.
        """
        if self.is_over:
            return
        try:
            if isinstance(event, AgentResponse):
                yield from self._response(event)
            elif isinstance(event, Message):
                yield from self._message(event, ends=event.status in _ENDED)
            elif isinstance(event, Content):
                yield from self._content(event)
        except AgentFailed:
            yield from self.catch_up()
            yield from self._used()
            raise
        except STRANGE:
            raise AgentInvalidResponse(STRANGE_WORDS) from None

    def catch_up(self) -> Iterator[Told]:
        """The text as it stands, where it is not what has been told."""
        yield from self._answer.catch_up()

    def finish(self) -> None:
        """Raises AgentInvalidResponse unless the answer is over."""
        if not self.is_over:
            raise AgentInvalidResponse("The agent broke off in the middle of its answer.")

    # The three objects

    def _response(self, response: AgentResponse) -> Iterator[Told]:
        self._tally.set_response(response.usage)
        if failure := failure_in(response):
            raise failure
        if response.status not in _ENDED:
            return
        self._note_early_stop(response)
        for message in self._new_in(response):
            yield from self._message(message, ends=True)
        for incoming in list(self._messages.values()):
            yield from self._end(incoming)
        yield from self._reply()

    def _message(self, message: Message, *, ends: bool) -> Iterator[Told]:
        incoming = self._incoming(self._id_of(message))
        if incoming.is_over:
            return
        kind, failure = incoming.announce(message), failure_in(message) or _failure_inside(message)
        ends = ends or failure is not None
        if ends:
            self._tally.add_message(message.usage)
            self._note_early_stop(message)
        if failure and not kind.is_tool:
            raise failure
        for gone in incoming.settle(message.content or ()):
            yield from self._answer.rewrite(self._block(incoming, gone), "")
        if ends:
            yield from self._end(incoming)
        elif kind is Kind.ANSWER:
            yield from self._show(incoming, incoming.take_changed())
        if failure:
            yield self._steps.failed(incoming, failure.message)

    def _content(self, content: Content) -> Iterator[Told]:
        incoming = self._incoming(content.msg_id or self._latest)
        slot = None if incoming.is_over else incoming.take(content)
        if slot is None:
            return
        if failure := failure_in(content):
            if not (incoming.kind and incoming.kind.is_tool):
                raise failure
            yield self._steps.failed(incoming, failure.message)
        self._note_early_stop(content)
        if content.status in _ENDED:
            slot.end(is_final=not content.is_bare())
        if incoming.kind is not Kind.ANSWER:
            return
        if content.delta and slot.block and not slot.is_complete:
            incoming.is_shown(slot)
            yield from self._answer.write(slot.block, _words_in(content))
        else:
            yield from self._show(incoming, incoming.take_changed())

    # What is made of them

    def _incoming(self, key: str) -> IncomingMessage:
        found = self._messages.get(key)
        if found is None:
            if len(self._messages) >= MAX_MESSAGES:
                raise AgentInvalidResponse(
                    f"The agent's answer has more than {MAX_MESSAGES} messages.", max_messages=MAX_MESSAGES
                )
            found = self._messages[key] = IncomingMessage(len(self._messages))
        return found

    def _id_of(self, message: Message) -> str:
        """Its id; one without goes on with the message before, unless that is over or this one is new."""
        latest = self._messages.get(self._latest)
        goes_on = latest is not None and not latest.is_over and message.status != RunStatus.Created
        if goes_on and "id" not in message.model_fields_set:
            return self._latest
        self._latest = message.id
        return message.id

    def _new_in(self, response: AgentResponse) -> list[Message]:
        """The messages of a whole response that may bring something: without ids, nothing after a stream of them."""
        output = response.output or []
        if output:
            # Contents that belonged to no message are a part of these.
            self._messages.pop("", None)
        return [message for message in output if not self._messages or "id" in message.model_fields_set]

    def _end(self, incoming: IncomingMessage) -> Iterator[Told]:
        if incoming.is_over:
            return
        incoming.is_over = True
        for slot in incoming.slots:
            slot.end(is_final=True)
        if incoming.kind is None:
            incoming.kind = Kind.ANSWER
        if incoming.kind is Kind.ERROR:
            words = BETWEEN.join(filter(None, (_words_in(slot.whole) for slot in incoming.slots)))
            raise _failed("error", words or _FAILED[RunStatus.Failed])
        if incoming.kind is Kind.ANSWER:
            yield from self._show(incoming, incoming.slots)
        elif incoming.kind is not Kind.NOTHING:
            yield from self._steps.of(incoming)

    def _show(self, incoming: IncomingMessage, slots: list[Slot]) -> Iterator[Told]:
        """The answer with what there is of these contents; an embed is there when it is complete."""
        for slot in slots:
            block = self._block(incoming, slot)
            if slot.is_final and slot.words is None:
                part = part_of(slot.whole)
                slot.words = part.text if part.embed is None else self._attachments.name_of(part, self._answer.text)
            yield from self._answer.rewrite(block, _words_in(slot.whole) if slot.words is None else slot.words)

    def _block(self, incoming: IncomingMessage, slot: Slot) -> Block:
        if slot.block is None:
            slot.block = self._answer.begin((incoming.number, *slot.place))
        return slot.block

    def _note_early_stop(self, event: Event) -> None:
        if event.status == RunStatus.Incomplete:
            self._stopped = f"{STOPPED_EARLY} {event.error.message}" if event.error else STOPPED_EARLY

    def _reply(self) -> Iterator[Told]:
        message = AgentMessage(self._answer.text, self._attachments.found)
        if self._stopped and not message.text and not message.embeds:
            raise _failed(RunStatus.Incomplete.value, self._stopped)
        if self._stopped:
            yield StepTaken("thought", self._stopped)
        yield from self.catch_up()
        yield from self._used()
        self.is_over = True
        yield Reply(message)

    def _used(self) -> Iterator[Told]:
        if used := self._tally.used:
            yield used


def failure_in(event: Event) -> AgentFailed | None:
    """The failure that an object tells of, in its own words. One that stopped early has not failed."""
    if event.status == RunStatus.Incomplete:
        return None
    if event.error is not None:
        return _failed(event.error.code, event.error.message)
    code, words = (event.code, event.message) if isinstance(event, Message) else (None, None)
    if code is None and event.status not in _FAILED:
        return None
    said = _said_in(event) if isinstance(event, Message) else ""
    status = event.status or RunStatus.Failed.value
    return _failed(code or status, words or said or _FAILED.get(status, _FAILED[RunStatus.Failed]))


def _failure_inside(message: Message) -> AgentFailed | None:
    return next(filter(None, map(failure_in, message.content or ())), None)


def _failed(code: str, words: str) -> AgentFailed:
    """The words are strangers': bounded, and what the database can store."""
    error = {"code": clean(code)[:MAX_ERROR_TEXT], "message": clean(words)[:MAX_ERROR_TEXT]}
    return AgentFailed(error["message"], error=error)


def _said_in(message: Message) -> str:
    return BETWEEN.join(filter(None, map(_words_in, message.content or ())))


def _words_in(content: Content) -> str:
    """What of a content can be shown while it is not complete: its text."""
    match content:
        case TextContent(text=str(text)) | RefusalContent(refusal=str(text)):
            return clean(text)
    return ""
