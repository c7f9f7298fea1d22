"""What a program cannot do to the site and to other calls: keep it from its work, multiply, stay."""

import asyncio
import contextlib
import gc
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from common.errors import AgentFailed, AgentInvalidResponse, AgentTimeout, AgentUnreachable
from registry.transports.base import reply_of
from registry.transports.catalog import aclose_all, transport
from registry.transports.stdio_jsonrpc import logs, process
from tests.registry.transports.stdio_jsonrpc.programs import Program, call, spawners

Make = Callable[..., Program]


@contextlib.asynccontextmanager
async def lags() -> AsyncIterator[list[float]]:
    """How much each turn of the event loop works meanwhile (seconds), whatever else the machine does.

    What thousands of tests left behind is no part of it: a collection of garbage would go through all of that.
    """
    gc.freeze()
    found: list[float] = []

    async def measure() -> None:
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            found.append(time.thread_time() - began)

    measuring = asyncio.create_task(measure())
    try:
        yield found
    finally:
        measuring.cancel()
        gc.unfreeze()


@pytest.mark.parametrize("flood", ["endless_blank_lines", "endless_progress"])
async def test_a_flood_of_lines_ends_soon_and_leaves_the_site_at_work(program: Make, flood: str) -> None:
    subject = program(flood)
    async with lags() as found:
        with pytest.raises(AgentInvalidResponse, match="without an answer"):
            await subject.reply(call())
    assert max(found) < 0.4  # of which a collection of garbage may be half
    assert len(found) > 1000


async def test_a_flood_ends_with_the_calls_time(program: Make) -> None:
    subject = program("endless_blank_lines")
    await program("echo").reply(call())
    with pytest.raises(AgentTimeout):
        await subject.reply(call(timeout=0.01))


async def test_processes_that_are_being_ended_count(program: Make) -> None:
    subject = program("ignore_sigterm hang", processes=2)
    most = 0
    for _ in range(8):
        asking = asyncio.create_task(subject.reply(call()))
        await asyncio.sleep(0.15)
        most = max(most, len(subject.processes()))
        asking.cancel()
        await asyncio.wait([asking])
    assert 1 <= most <= 2
    subject.does("echo")
    assert (await subject.reply(call("room"))).message.text == "room"


async def test_who_finds_no_room_in_time_is_told(program: Make) -> None:
    subject = program("ignore_sigterm hang", processes=1)
    with pytest.raises(AgentTimeout, match="flush"):
        await subject.reply(call(timeout=0.5))
    with pytest.raises(AgentTimeout, match="did not end in time"):
        await subject.reply(call(timeout=0.2))


async def test_who_waits_for_room_takes_a_process_that_comes_free(program: Make) -> None:
    subject = program("ignore_sigterm hang", "slowly 0.5", "echo", processes=2)
    stuck = asyncio.create_task(subject.reply(call()))
    await asyncio.sleep(0.3)
    busy = asyncio.create_task(subject.reply(call()))
    await asyncio.sleep(0.2)
    stuck.cancel()
    began = time.monotonic()
    assert (await subject.reply(call("next"))).message.text == "next"
    assert time.monotonic() - began < 1.5  # the stuck one takes two seconds to end
    await busy


async def test_calls_that_fail_side_by_side_make_nobody_wait(program: Make) -> None:
    subject = program("slowly 0.2", processes=8)
    await asyncio.gather(*(subject.reply(call()) for _ in range(8)))
    subject.does("die 3")
    failed = await asyncio.gather(*(subject.reply(call()) for _ in range(8)), return_exceptions=True)
    assert all(isinstance(each, AgentUnreachable) for each in failed)
    subject.does("echo")
    began = time.monotonic()
    assert (await subject.reply(call())).message.text == "hi"
    assert time.monotonic() - began < 1


async def test_canceled_calls_and_answered_errors_make_nobody_wait(program: Make) -> None:
    subject = program('line {"id": null, "error": {"code": 1, "message": "No."}}')
    began = time.monotonic()
    for _ in range(4):
        with pytest.raises(AgentFailed, match="No"):
            await subject.reply(call())
        asking = asyncio.create_task(subject.reply(call()))
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.wait([asking])
    subject.does("echo")
    assert (await subject.reply(call())).message.text == "hi"
    assert time.monotonic() - began < 4


async def test_a_process_that_forks_and_exits_over_and_over_is_ended(program: Make) -> None:
    subject = program("chain")
    await subject.reply(call())
    began = time.monotonic()
    await aclose_all()
    assert time.monotonic() - began < 3
    last = (subject.directory / "beat").read_text()
    await asyncio.sleep(0.3)
    assert (subject.directory / "beat").read_text() == last


async def test_where_the_ending_has_to_be_ended_the_log_says_so(program: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PATIENCE", 0.1)
    monkeypatch.setattr(process, "GRACE", 0.1)
    said: list[str] = []

    async def hear(_: int, __: str, text: str) -> None:
        said.append(text)

    monkeypatch.setattr(logs, "_sinks", [hear])
    subject = program("hang")
    asking = asyncio.create_task(reply_of(transport("stdio_jsonrpc"), replace(subject.deployment, revision=1), call()))
    await asyncio.sleep(0.5)
    for spawner in spawners():
        os.kill(spawner, signal.SIGSTOP)
    asking.cancel()
    await asyncio.wait([asking])
    await aclose_all()
    assert any("some of it may still run" in each for each in said)


async def test_a_program_that_leaves_out_ids_keeps_its_context(program: Make) -> None:
    subject = program("lack_id")
    reply = await subject.reply(call())
    for number in (2, 3):
        reply = await subject.reply(call(context=reply.context or {}))
        assert reply.message.text == f"call {number}"
        assert reply.context == {"count": number}
