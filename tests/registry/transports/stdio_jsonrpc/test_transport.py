"""Calls to programs that do as they should: what they are sent, what they are given, how long they live."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace

import orjson
import pytest

from common.errors import AgentFailed, AgentTimeout, AgentUnreachable
from registry.transports.base import (
    AgentMessage,
    Deployment,
    EmbedRef,
    LimitsLeft,
    Progress,
    Reply,
    reply_of,
)
from registry.transports.catalog import aclose_all, transport
from tests.registry.transports.stdio_jsonrpc.programs import Program, call, spawners

Make = Callable[..., Program]


async def told(program: Program, what: str) -> object:
    """What the program finds where it runs."""
    program.does(f"tell {what}")
    text = (await program.reply(call())).message.text
    return orjson.loads(text) if text[0] in "{[0123456789" else text


async def test_a_program_is_sent_the_request_of_the_seed(program: Make) -> None:
    subject = program("tell request")
    asked = replace(call("Roll 2d6"), context={"count": 1})
    request = orjson.loads((await subject.reply(asked)).message.text)
    assert isinstance(request.pop("id"), int)
    assert request == {
        "jsonrpc": "2.0",
        "method": "tools/call",
        "params": {"name": "execute_task", "arguments": {"prompt": "Roll 2d6", "context": {"count": 1}}},
    }


async def test_attachments_are_in_the_context_for_one_call(program: Make) -> None:
    subject = program("tell request")
    image = EmbedRef("image/png", "https://files.example/1")
    asked = replace(call(), message=AgentMessage("See #1", {"1": image}), context={"embeds": "stale", "count": 1})
    request = orjson.loads((await subject.reply(asked)).message.text)
    embeds = {"1": {"content_type": "image/png", "uri": image.uri}}
    assert request["params"]["arguments"]["context"] == {"count": 1, "embeds": embeds}
    later = orjson.loads((await subject.reply(replace(call(), context={"embeds": "stale"}))).message.text)
    assert later["params"]["arguments"]["context"] == {}


async def test_one_process_answers_call_after_call(program: Make) -> None:
    subject = program()
    assert await told(subject, "pid") == await told(subject, "pid")
    assert len(subject.processes()) == 1


async def test_a_program_finds_only_what_its_command_says(program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "not for agents")
    held, _ = os.pipe()
    os.set_inheritable(held, True)
    subject = program(args=("", "a b", "$HOME; echo *"), env={"GREETING": "hello"})
    env = await told(subject, "env")
    assert env == {
        "GREETING": "hello",
        "MARK": subject.mark,
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(subject.directory),
        # What the interpreter sets itself, where it sees a locale of C.
        **{name: value for name, value in env.items() if name == "LC_CTYPE"},
    }
    assert await told(subject, "cwd") == str(subject.directory)
    assert await told(subject, "args") == ["a b", "$HOME; echo *"]
    assert (await told(subject, "files")) == [0, 1, 2]
    os.close(held)


async def test_without_a_directory_a_program_gets_one_of_its_own(program: Make) -> None:
    subject = program(cwd="", args=("tell cwd",))
    first = (await subject.reply(call())).message.text
    assert "/agents/" in first
    other = (await program(cwd="", args=("tell cwd",)).reply(call())).message.text
    assert other != first


async def test_progress_is_told_as_it_comes_and_the_reply_is_last(program: Make) -> None:
    events = await program("progress Reading").events(call())
    percents = [event.percent for event in events[:-1] if isinstance(event, Progress)]
    assert percents == [0, 25, 50, 75, 100]
    assert {event.text for event in events[:-1]} == {"Reading"}
    assert events[-1] == Reply(AgentMessage("finished"))


async def test_context_comes_back_and_goes_out_again(program: Make) -> None:
    subject = program("count")
    first = await subject.reply(call())
    assert (first.message.text, first.context) == ("call 1", {"count": 1})
    second = await subject.reply(replace(call(), context=first.context))
    assert (second.message.text, second.context) == ("call 2", {"count": 2})


async def test_what_a_program_has_left_of_its_limits_is_told(program: Make) -> None:
    limits = '{"result": "x", "meta": {"rate_limit": {"remaining_today": 1950, "remaining_minute": 55}}}'
    events = await program(f"document {limits}").events(call())
    assert events == [LimitsLeft(remaining_minute=55, remaining_today=1950), Reply(AgentMessage("x"))]


async def test_a_failure_has_the_programs_words_its_code_and_what_it_has_left(program: Make) -> None:
    error = '{"code": -32000, "message": "No dice.", "data": {"x": 1}}'
    meta = '{"rate_limit": {"remaining_minute": 0}}'
    subject = program(f'document {{"error": {error}, "meta": {meta}}}', "echo")
    async with aclosing(transport("stdio_jsonrpc").send(subject.deployment, call())) as events:
        assert await anext(events) == LimitsLeft(0, None)
        with pytest.raises(AgentFailed, match="No dice") as failed:
            await anext(events)
    assert failed.value.details == {"error": {"code": -32000, "data": {"x": 1}}}
    before = subject.processes()
    assert (await subject.reply(call())).message.text == "hi"
    assert subject.processes() == before


async def test_as_many_calls_run_at_once_as_there_may_be_processes(program: Make) -> None:
    subject = program("slowly 0.3", processes=3)
    await asyncio.gather(*(subject.reply(call()) for _ in range(3)))  # started
    began = time.monotonic()
    replies = await asyncio.gather(*(subject.reply(call(f"number {n}")) for n in range(6)))
    took = time.monotonic() - began
    assert [reply.message.text for reply in replies] == [f"number {n}" for n in range(6)]
    assert 0.6 <= took < 1.5
    assert len(subject.processes()) == 3


async def test_waiting_callers_take_turns_in_order(program: Make) -> None:
    subject = program("slowly 0.02", processes=1)
    order: list[int] = []

    async def ask(number: int) -> None:
        await subject.reply(call(str(number)))
        order.append(number)

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(ask(number))
            await asyncio.sleep(0)
    assert order == list(range(8))


async def test_waiting_for_a_process_counts_for_the_calls_time(program: Make) -> None:
    subject = program("slowly 5", processes=1)
    busy = asyncio.create_task(subject.reply(call()))
    await asyncio.sleep(0.3)
    with pytest.raises(AgentTimeout, match="busy"):
        await subject.reply(call(timeout=0.2))
    busy.cancel()
    await asyncio.wait([busy])


async def test_the_shorter_of_both_times_ends_a_call(program: Make) -> None:
    subject = program("hang", call_seconds=0.3)
    began = time.monotonic()
    with pytest.raises(AgentTimeout, match=r"within 0\.3 seconds.*flush"):
        await subject.reply(call(timeout=30))
    assert time.monotonic() - began < 2
    assert await subject.is_gone()


async def test_a_program_without_work_is_ended_and_started_again_when_asked(program: Make) -> None:
    subject = program(idle_seconds=0.2)
    first = await told(subject, "pid")
    assert len(subject.processes()) == 1
    assert await subject.is_gone()
    assert await told(subject, "pid") != first


async def test_cancelling_a_call_ends_its_process_and_no_other(program: Make) -> None:
    subject = program("echo", processes=2)
    await asyncio.gather(subject.reply(call()), subject.reply(call()))
    subject.does("hang", "echo")
    before = set(subject.processes())
    calling = asyncio.create_task(subject.reply(call()))
    await asyncio.sleep(0.2)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    await asyncio.sleep(0.3)
    left = set(subject.processes())
    assert len(left) == len(before) - 1
    assert left < before
    assert (await subject.reply(call("again"))).message.text == "again"


async def test_closing_the_iterator_ends_the_process_in_mid_call(program: Make) -> None:
    subject = program("endless_progress")
    async with aclosing(transport("stdio_jsonrpc").send(subject.deployment, call())) as events:
        assert await anext(events) == Progress(1)
    assert await subject.is_gone()


async def test_closing_the_transport_ends_all_within_seconds(program: Make) -> None:
    subjects = [program("ignore_sigterm echo", args=("",), processes=1) for _ in range(3)]
    await asyncio.gather(*(subject.reply(call()) for subject in subjects))
    busy = asyncio.create_task(program("ignore_sigterm hang").reply(call()))
    await asyncio.sleep(0.5)
    began = time.monotonic()
    await aclose_all()
    assert time.monotonic() - began < 4
    assert not any(subject.processes() for subject in subjects)
    assert not spawners()
    await asyncio.wait([busy])
    assert isinstance(busy.exception(), AgentUnreachable)


async def test_a_program_that_ends_when_its_input_ends_is_let_end(program: Make) -> None:
    subject = program("echo")
    (subject.directory / "agent.sh").write_text(
        'read line; printf \'{"id":%s,"result":"x"}\\n\' "$(echo "$line" | sed \'s/.*"id":\\([0-9]*\\).*/\\1/\')"\n'
        'read line; echo "ended well" > end\n'
    )
    shell = Deployment("sh", replace(subject.command, command="sh", args=("agent.sh",)).as_options())
    assert (await reply_of(transport("stdio_jsonrpc"), shell, call())).text == "x"
    await aclose_all()
    assert (subject.directory / "end").read_text() == "ended well\n"


async def test_a_func_is_refused_without_a_process(program: Make) -> None:
    subject = program()
    with pytest.raises(AgentFailed, match="queries only"):
        await subject.reply(replace(call(), func="roll"))
    assert not subject.processes()


async def test_a_command_that_is_not_one_is_unreachable() -> None:
    with pytest.raises(AgentUnreachable, match="processes must be a whole number"):
        await reply_of(transport("stdio_jsonrpc"), Deployment("x", {"command": "x", "processes": "many"}), call())


async def test_twenty_resting_programs_are_nothing_to_the_sites_own_process(program: Make) -> None:
    subjects = [program(processes=1) for _ in range(20)]
    await subjects[0].reply(call())
    before = _resident()
    await asyncio.gather(*(subject.reply(call(timeout=60)) for subject in subjects))
    assert _resident() - before < 20


def _resident() -> float:
    """Megabytes of this process."""
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
