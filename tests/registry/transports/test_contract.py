"""What every transport owes its callers, over real HTTP where it speaks HTTP."""

import asyncio
import socket
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from common.errors import AgentFailed, AgentInvalidResponse, AgentTimeout, AgentUnreachable, FixieError
from registry.transports.base import (
    AgentMessage,
    Call,
    Deployment,
    EmbedRef,
    Event,
    Reply,
    TextSoFar,
    Transport,
    reply_of,
)
from registry.transports.catalog import TRANSPORTS, aclose_all, transport
from registry.transports.internal import internal_agent
from tests.agents import Behaviour, ScriptedAgent, answer, chunks, drip, hang, raw, redirect
from tests.registry.transports.agentscope import apps
from tests.registry.transports.stdio_jsonrpc.programs import Program

IMAGE = EmbedRef("image/png", "https://files.example/1?signature=abc")
MESSAGES = [
    AgentMessage("8 3"),
    AgentMessage(""),
    AgentMessage('Grüße, 世界 👩\u200d🚀 "quoted" \\ two\nlines\r\n\ttab'),
    AgentMessage("See #1", {"1": IMAGE, "mask 2": EmbedRef("text/plain", "data:base64,aGk=")}),
]
MEGABYTE = 1024 * 1024


class Subject(ABC):
    """A transport and an agent behind it that can be told what to do."""

    kind: str
    func: str | None = None
    # A call that is over after 0.1 seconds, and the next one, take less (seconds).
    soon = 0.4

    @property
    @abstractmethod
    def deployment(self) -> Deployment: ...

    @abstractmethod
    def echoes(self) -> None:
        """The agent answers with the message it was sent."""

    @abstractmethod
    def fails(self, text: str) -> None:
        """The agent says `text` and that it failed."""

    @abstractmethod
    def hangs(self) -> None: ...

    @property
    def transport(self) -> Transport:
        return transport(self.kind)

    def call(self, text: str = "hi", *, timeout: float = 0.4) -> Call:
        return Call(AgentMessage(text), "a-token", "run/1", func=self.func, timeout=timeout)

    def events(self, call: Call) -> AsyncGenerator[Event, None]:
        return self.transport.send(self.deployment, call)

    async def reply(self, call: Call | None = None) -> AgentMessage:
        return await reply_of(self.transport, self.deployment, call or self.call())

    async def error(self, call: Call | None = None) -> FixieError:
        """The error of a call that must fail, after which another must work."""
        with pytest.raises(FixieError) as error:
            await self.reply(call)
        self.echoes()
        assert (await self.reply()).text == "hi"
        return error.value


class OverHttp(Subject):
    def __init__(self, agent: ScriptedAgent, kind: str, func: str | None) -> None:
        self.agent, self.kind, self.func = agent, kind, func

    @property
    def deployment(self) -> Deployment:
        return Deployment(self.agent.url)

    @property
    def path(self) -> str:
        return f"/{self.func or ''}"

    def does(self, *behaviours: Behaviour) -> None:
        self.agent.on(self.path, *behaviours)

    def echoes(self) -> None:
        self.does(answer(lambda request: {"message": request.json["message"], "error": None}))

    def fails(self, text: str) -> None:
        error = {"code": "ERR_X", "message": "It broke.", "details": {"x": 1, "traceback": ["secret"]}}
        self.does(answer({"message": {"text": text}, "error": error}, status=500))

    def hangs(self) -> None:
        self.does(hang())

    def says(self, text: str) -> Any:
        """An answer in JSON with this text."""
        return {"message": {"text": text}}


class AsApp(OverHttp):
    @property
    def path(self) -> str:
        return "/process"

    def echoes(self) -> None:
        self.does(apps.echoes())

    def fails(self, text: str) -> None:
        self.does(apps.sends([apps.response("failed", error={"code": "ERR_X", "message": text})]))

    def says(self, text: str) -> Any:
        return apps.response(output=[apps.message(content=[apps.content(text=text)])])


class Inside(Subject):
    kind = "internal"

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex
        self.closed = False

    @property
    def deployment(self) -> Deployment:
        return Deployment(self.name)

    def echoes(self) -> None:
        self.name = "echo"

    def fails(self, text: str) -> None:
        @internal_agent(self.name)
        async def agent(call: Call) -> AsyncGenerator[Event, None]:
            yield TextSoFar("")
            raise AgentFailed(text)

    def hangs(self) -> None:
        @internal_agent(self.name)
        async def agent(call: Call) -> AsyncGenerator[Event, None]:
            try:
                yield TextSoFar("wait")
                await asyncio.sleep(10)
            finally:
                self.closed = True


class AsProgram(Subject):
    kind = "stdio_jsonrpc"
    soon = 3.0  # the next call starts an interpreter

    def __init__(self) -> None:
        self.program = Program()

    @property
    def deployment(self) -> Deployment:
        return self.program.deployment

    def call(self, text: str = "hi", *, timeout: float = 10) -> Call:
        # The first one starts an interpreter, for which a busy machine takes its time.
        return super().call(text, timeout=timeout)

    def echoes(self) -> None:
        self.program.does("echo")

    def fails(self, text: str) -> None:
        self.program.does(f"fail {text}")

    def hangs(self) -> None:
        self.program.does("hang")


@pytest.fixture
def agent() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as running:
        yield running


# Those that speak the Fixie agent protocol, and all that speak HTTP.
FIXIE = [("code_shot", "roll"), ("query_http", None), ("query_http", "roll")]
HTTP = [*FIXIE, ("agentscope", None)]


def over_http(agent: ScriptedAgent, kind: str, func: str | None) -> OverHttp:
    return (AsApp if kind == "agentscope" else OverHttp)(agent, kind, func)


@pytest.fixture(params=HTTP, ids=lambda param: f"{param[0]}-{'query' if param[1] is None else 'func'}")
async def http(agent: ScriptedAgent, request: pytest.FixtureRequest) -> AsyncIterator[OverHttp]:
    yield over_http(agent, *request.param)
    await aclose_all()


@pytest.fixture(params=FIXIE, ids=lambda param: f"{param[0]}-{'query' if param[1] is None else 'func'}")
async def fixie(agent: ScriptedAgent, request: pytest.FixtureRequest) -> AsyncIterator[OverHttp]:
    yield over_http(agent, *request.param)
    await aclose_all()


OTHERS: dict[str, type[Subject]] = {"internal": Inside, "stdio_jsonrpc": AsProgram}


@pytest.fixture(
    params=[*HTTP, *((kind, None) for kind in OTHERS)], ids=lambda param: f"{param[0]}-{param[1] or 'query'}"
)
async def subject(agent: ScriptedAgent, request: pytest.FixtureRequest) -> AsyncIterator[Subject]:
    kind, func = request.param
    yield OTHERS[kind]() if kind in OTHERS else over_http(agent, kind, func)
    await aclose_all()


def test_the_contract_covers_every_transport_of_the_catalog() -> None:
    assert {kind for kind, _ in HTTP} | set(OTHERS) == set(TRANSPORTS)


def test_a_transport_is_shared_and_an_unknown_one_is_unreachable() -> None:
    assert transport("internal") is transport("internal")
    with pytest.raises(AgentUnreachable):
        transport("carrier-pigeon")


# All transports


@pytest.mark.parametrize("message", MESSAGES, ids=["text", "empty", "unicode", "embeds"])
async def test_a_message_arrives_and_comes_back_unchanged(subject: Subject, message: AgentMessage) -> None:
    subject.echoes()
    assert await subject.reply(replace(subject.call(), message=message)) == message


async def test_the_reply_is_the_last_event_and_comes_once(subject: Subject) -> None:
    subject.echoes()
    events = [event async for event in subject.events(subject.call())]
    assert [event for event in events if isinstance(event, Reply)] == [events[-1]]


async def test_what_a_failing_agent_says_reaches_the_user(subject: Subject) -> None:
    subject.fails("I'm sorry, I am out of dice.")
    error = await subject.error()
    assert isinstance(error, AgentFailed)
    assert error.message == "I'm sorry, I am out of dice."


async def test_an_agent_that_does_not_answer_in_time_is_a_timeout(subject: Subject) -> None:
    subject.hangs()
    started = time.monotonic()
    error = await subject.error(subject.call(timeout=0.1))
    assert isinstance(error, AgentTimeout)
    assert time.monotonic() - started < subject.soon


async def test_many_calls_at_once_do_not_mix(subject: Subject) -> None:
    subject.echoes()
    calls = [subject.reply(subject.call(f"number {number}", timeout=2)) for number in range(20)]
    assert [reply.text for reply in await asyncio.gather(*calls)] == [f"number {n}" for n in range(20)]


# Transports of the Fixie agent protocol


async def test_a_call_carries_its_token_its_key_and_its_message(fixie: OverHttp) -> None:
    fixie.echoes()
    await fixie.reply(replace(fixie.call(), message=MESSAGES[3]))
    request = fixie.agent.requests[0]
    assert request.path == fixie.path
    assert request.headers["authorization"] == "Bearer a-token"
    assert request.headers["idempotency-key"] == "run/1"
    assert request.headers["content-type"] == "application/json"
    message = {
        "text": "See #1",
        "embeds": {
            "1": {"content_type": "image/png", "uri": IMAGE.uri},
            "mask 2": {"content_type": "text/plain", "uri": "data:base64,aGk="},
        },
    }
    shape = {"message": message, "access_token": "a-token"}
    assert request.json == (shape if fixie.func else {**shape, **message})


async def test_the_error_an_agent_describes_is_passed_on_without_its_traceback(fixie: OverHttp) -> None:
    fixie.fails("No.")
    error = await fixie.error()
    assert error.details == {
        "status": 500,
        "error": {"code": "ERR_X", "message": "It broke.", "details": {"x": 1}},
    }


async def test_an_error_in_an_answer_with_status_200_is_the_agents_failure(fixie: OverHttp) -> None:
    fixie.does(answer({"message": {"text": "Half of it."}, "error": {"code": "E", "message": "m", "details": None}}))
    error = await fixie.error()
    assert isinstance(error, AgentFailed)
    assert error.message == "Half of it."


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        17,
        [],
        {},
        {"message": None},
        {"message": "text"},
        {"message": {}},
        {"message": {"text": None}},
        {"message": {"text": 5}},
        {"message": {"text": "x", "embeds": []}},
        {"message": {"text": "x", "embeds": {"1": "https://files.example"}}},
        {"message": {"text": "x", "embeds": {"1": {"uri": "https://files.example"}}}},
        {"message": {"text": "x", "embeds": {"1": {"content_type": "a/b", "uri": 1}}}},
        {"message": {"text": "x", "embeds": {f"a{n}": {"content_type": "a/b", "uri": "x:"} for n in range(101)}}},
        {"error": {"code": "x", "message": "y"}},
    ],
)
async def test_an_answer_of_the_wrong_shape_is_invalid(fixie: OverHttp, value: object) -> None:
    fixie.does(answer(value))
    error = await fixie.error()
    assert isinstance(error, AgentInvalidResponse)
    assert not error.retryable


# Transports over HTTP


@pytest.mark.parametrize("status", [400, 401, 403, 418, 422, 429, 500])
async def test_an_error_status_without_words_is_the_agents_failure(http: OverHttp, status: int) -> None:
    http.does(answer(body=b"<h1>Oops</h1>", status=status, content_type="text/html"))
    error = await http.error()
    assert isinstance(error, AgentFailed)
    assert error.details["status"] == status
    assert str(status) in error.message


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_a_gateway_without_an_agent_behind_it_is_unreachable(http: OverHttp, status: int) -> None:
    http.does(answer(body=b"Bad Gateway", status=status, content_type="text/plain"))
    assert isinstance(await http.error(), AgentUnreachable)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   \n\n",
        b"Hello, world!",
        b"<!DOCTYPE html>\n<html>\n</html>",
        b'{"message": {"text": "cut',
        b"\xff\xfe",
        b'{"message": {"text": "\xff"}}',
        b'{"message": {"text": "\\ud800"}}',
        b"[" * 100_000,
    ],
)
async def test_an_answer_that_is_not_json_is_invalid(http: OverHttp, body: bytes) -> None:
    http.does(answer(body=body))
    assert isinstance(await http.error(), AgentInvalidResponse)


async def test_an_oversized_answer_is_invalid(http: OverHttp) -> None:
    http.does(answer(http.says("x" * (MEGABYTE + 1))))
    error = await http.error(http.call(timeout=2))
    assert isinstance(error, AgentInvalidResponse)
    assert error.details["max_bytes"] == MEGABYTE


async def test_an_oversized_error_answer_is_invalid(http: OverHttp) -> None:
    http.does(answer(http.says("x" * MEGABYTE), status=500))
    assert isinstance(await http.error(http.call(timeout=2)), AgentInvalidResponse)


async def test_an_answer_without_end_is_cut_off(http: OverHttp) -> None:
    http.does(drip(b" " * 60_000, delay=0))
    assert isinstance(await http.error(http.call(timeout=2)), AgentInvalidResponse)


async def test_a_slow_drip_does_not_outlive_the_deadline(http: OverHttp) -> None:
    http.does(drip())
    started = time.monotonic()
    assert isinstance(await http.error(http.call(timeout=0.15)), AgentTimeout)
    assert time.monotonic() - started < 0.4


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n" + b'{"message": {"text": "a"}}',
        b"HTTP/1.1 200 OK\r\n\r\n" + b'{"message": {"te',
        b"HTTP/1.1 200 OK\r\n",
    ],
)
async def test_an_answer_that_breaks_off_is_invalid(http: OverHttp, data: bytes) -> None:
    http.does(raw(data))
    assert isinstance(await http.error(), AgentInvalidResponse)


async def test_an_agent_that_hangs_up_without_a_word_is_unreachable(http: OverHttp) -> None:
    http.does(raw())
    assert isinstance(await http.error(), AgentUnreachable)


async def test_an_agent_that_is_not_there_is_unreachable(http: OverHttp) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        nowhere = Deployment(f"http://127.0.0.1:{held.getsockname()[1]}")
        with pytest.raises(AgentUnreachable):
            await reply_of(http.transport, nowhere, http.call())


async def test_a_target_that_is_no_url_is_unreachable(http: OverHttp) -> None:
    with pytest.raises(AgentUnreachable):
        await reply_of(http.transport, Deployment("not a url"), http.call())


async def test_a_redirected_call_is_invalid(http: OverHttp) -> None:
    http.does(redirect("/elsewhere"))
    assert isinstance(await http.error(), AgentInvalidResponse)


async def test_a_character_that_cannot_be_stored_is_replaced(http: OverHttp) -> None:
    http.does(answer(http.says("a\x00b")))
    assert (await http.reply()).text == "a\N{REPLACEMENT CHARACTER}b"


async def test_cancelling_the_caller_closes_the_call_at_the_agent(http: OverHttp) -> None:
    http.hangs()
    calling = asyncio.create_task(http.reply(http.call(timeout=5)))
    await asyncio.sleep(0.05)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert await http.agent.saw_client_leave()


async def test_closing_the_iterator_closes_the_call_at_the_agent(agent: ScriptedAgent) -> None:
    subject = OverHttp(agent, "query_http", None)
    subject.does(chunks(b'{"message": {"text": "Once"}}\n', end=False))
    async with aclosing(subject.events(subject.call(timeout=5))) as events:
        assert await anext(events) == TextSoFar("Once")
    assert await agent.saw_client_leave()
    await aclose_all()


async def test_closing_the_iterator_closes_an_internal_agent() -> None:
    subject = Inside()
    subject.hangs()
    async with aclosing(subject.events(subject.call(timeout=5))) as events:
        assert await anext(events) == TextSoFar("wait")
    assert subject.closed
