"""Programs that do not do as they should: a typed error in words, the next call works, no process is left."""

import asyncio
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from common.errors import AgentFailed, AgentInvalidResponse, AgentTimeout, AgentUnreachable, FixieError
from registry.transports.base import AgentMessage, Deployment, reply_of
from registry.transports.catalog import transport
from registry.transports.stdio_jsonrpc.options import CommandLine
from tests.registry.transports.stdio_jsonrpc.programs import SCRIPTED, Program, call, marked

Make = Callable[..., Program]

# What the program does, which error that is, and what its words say.
BAD: list[tuple[str, type[FixieError], str]] = [
    ("line Hello, world!", AgentInvalidResponse, "not JSON. Only answers .* logs go to standard error"),
    ("line \xff\xfe", AgentInvalidResponse, "not JSON"),
    ('line {"id": ID, "result": "a"} {"id": ID, "result": "b"}', AgentInvalidResponse, "several documents on one line"),
    ('line {"id": ID, "result": "a"} done', AgentInvalidResponse, "not only JSON"),
    ("line " + "[" * 100_000, AgentInvalidResponse, "not JSON"),
    ("line 17", AgentInvalidResponse, "no object"),
    ('line [{"id": ID, "result": "a"}]', AgentInvalidResponse, "no object"),
    ('line {"id": ID}', AgentInvalidResponse, "neither a result nor an error"),
    ('line {"id": 123456789, "result": "x"}', AgentInvalidResponse, r"answered the call 123456789 instead of \d+"),
    ('line {"id": "ID", "result": "x"}', AgentInvalidResponse, "answered the call"),
    ('line {"id": true, "result": "x"}', AgentInvalidResponse, "answered the call true"),
    ('line {"id": null, "result": "x"}', AgentInvalidResponse, "answered the call null"),
    ('line {"id": ID, "result": NaN}', AgentInvalidResponse, "NaN or Infinity, which is not valid JSON"),
    ('line {"id": null, "error": {"code": -32603, "message": "I broke."}}', AgentFailed, "I broke"),
    ('line {"id": ID, "result": "x", "context": []}', AgentInvalidResponse, "`context`"),
    ('line {"id": ID, "result": {"text": "x", "embeds": []}}', AgentInvalidResponse, "`result.embeds`"),
    ('line {"id": ID, "result": ' + "[" * 500 + "]" * 500 + "}", AgentInvalidResponse, "too deep"),
    ("die 0", AgentUnreachable, "exit code 0 .* line by line, not to its end.*flush"),
    ("die 3", AgentUnreachable, "exit code 3 before it answered"),
    ("die SIGSEGV", AgentUnreachable, "signal SIGSEGV"),
    ("die SIGKILL", AgentUnreachable, "signal SIGKILL"),
    ("die_in_mid_line", AgentInvalidResponse, "not JSON"),
    ("close_stdout", AgentUnreachable, "closed its standard output"),
    ("endless_line", AgentInvalidResponse, "more than 262144 bytes"),
    ("endless_progress", AgentInvalidResponse, "without an answer"),
    ("hang", AgentTimeout, "flush"),
    ("never_flush", AgentTimeout, "did not flush its output"),
    ("read_to_the_end", AgentTimeout, "to the end instead of line by line"),
    ("ignore_sigterm", AgentTimeout, "flush"),
    ("fork hang", AgentTimeout, "flush"),
    ("fork die 1", AgentUnreachable, "exit code 1"),
    ("allocate 2000", AgentUnreachable, "exit code 1"),
    ("open_files 100", AgentUnreachable, "exit code 1"),
]


@pytest.mark.parametrize(("behaviour", "kind", "words"), BAD, ids=[each[0][:30] for each in BAD])
async def test_it_is_a_typed_error_and_the_next_call_works(
    program: Make, settings: Any, behaviour: str, kind: type[FixieError], words: str
) -> None:
    settings.FUNC_ANSWER_MAX_BYTES = 256 * 1024
    subject = program(behaviour, "echo", open_files=64)
    hangs = kind is AgentTimeout
    with pytest.raises(kind, match=words):
        await subject.reply(call(timeout=1 if hangs else 20))
    wrong = set(subject.processes())
    assert (await subject.reply(call("next"))).message.text == "next"
    assert len(set(subject.processes()) - wrong) == 1


async def test_the_error_comes_at_once_and_the_end_of_the_stubborn_soon_after(program: Make) -> None:
    subject = program("fork ignore_sigterm hang")
    began = time.monotonic()
    with pytest.raises(AgentTimeout):
        await subject.reply(call(timeout=1.5))
    assert time.monotonic() - began < 2.2
    assert len(subject.processes()) == 4  # itself, two children, and one whose parent is gone
    assert await subject.is_gone()


async def test_what_a_program_started_ends_with_it(program: Make) -> None:
    subject = program("fork answer_and_exit")
    assert (await subject.reply(call())).message.text == "done"
    assert await subject.is_gone(1)


async def test_a_program_that_exits_after_each_answer_works(program: Make) -> None:
    subject = program("answer_and_exit")
    for _ in range(5):
        assert (await subject.reply(call())).message.text == "done"


async def test_a_program_that_exits_just_when_it_is_asked_again_is_replaced(program: Make) -> None:
    subject = program("echo", "die 0", "echo")
    await subject.reply(call())
    assert (await subject.reply(call("second"))).message.text == "second"


async def test_one_that_breaks_down_when_it_is_asked_again_is_not_asked_twice(program: Make) -> None:
    subject = program("echo", "die 1", "echo")
    await subject.reply(call())
    with pytest.raises(AgentUnreachable, match="exit code 1"):
        await subject.reply(call())
    assert (await subject.reply(call("third"))).message.text == "third"


async def test_a_whole_answer_without_a_line_break_counts_when_its_program_ends(program: Make) -> None:
    assert (await program("no_line_break").reply(call())).message.text == "whole"


async def test_what_a_program_says_after_its_answer_is_no_answer_to_the_next_call(program: Make) -> None:
    subject = program("answer_and_talk Done.", 'answer_and_talk {"id": 1, "result": "late"}', "echo")
    assert (await subject.reply(call())).message.text == "done"
    await asyncio.sleep(0.1)
    assert (await subject.reply(call())).message.text == "done"
    await asyncio.sleep(0.1)
    assert (await subject.reply(call("third"))).message.text == "third"


async def test_an_empty_line_after_an_answer_costs_no_process(program: Make) -> None:
    subject = program("answer_and_talk ")
    await subject.reply(call())
    before = subject.processes()
    await asyncio.sleep(0.1)
    await subject.reply(call())
    assert subject.processes() == before


async def test_notifications_that_nobody_knows_are_passed_over(program: Make) -> None:
    lines = '{"jsonrpc": "2.0", "method": "log", "params": []}\n\n{"method": "progress", "params": 5}\n'
    script = f"import json\nfor line in iter(input, None):\n  print({lines!r}, flush=True)\n"
    script += "  print(json.dumps({'id': json.loads(line)['id'], 'result': 'x'}), flush=True)\n"
    subject = program()
    talking = replace(subject.command, command=sys.executable, args=("-c", script))
    deployment = Deployment(talking.command, talking.as_options())
    assert await reply_of(transport("stdio_jsonrpc"), deployment, call()) == AgentMessage("x")


async def test_a_hundred_megabytes_of_log_cost_no_memory_and_no_time(program: Make) -> None:
    subject = program("flood_stderr 100")
    await program().reply(call())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.monotonic()
    assert (await subject.reply(call(timeout=60))).message.text == "flooded"
    assert time.monotonic() - began < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024  # KiB


async def test_memory_that_is_only_reserved_is_not_counted(program: Make) -> None:
    # As the runtimes of JavaScript and Go do.
    reserve = "import mmap\nheld = mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)\n"
    script = f"{reserve}import json\nprint(json.dumps({{'id': json.loads(input())['id'], 'result': 'x'}}))"
    subject = program()
    command = replace(subject.command, command=sys.executable, args=("-c", script), memory_mb=100)
    assert (await reply_of(transport("stdio_jsonrpc"), Deployment("x", command.as_options()), call())).text == "x"


def unstartable(directory: Path) -> list[tuple[CommandLine, str]]:
    """Commands, and what people are told of each."""
    text = directory / "text"
    text.write_text("no program")
    script = directory / "script"
    script.write_text("#!/nowhere/python\n")
    formless = directory / "formless"
    formless.write_text("echo hi\n")
    for file in (script, formless):
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return [
        (CommandLine("no-such-program"), "no such program"),
        (CommandLine(str(directory / "nothing")), "no such program"),
        (CommandLine(str(text)), "not executable"),
        (CommandLine(str(script)), "what its first line names is missing"),
        (CommandLine(str(formless)), "a script needs a first line"),
        (CommandLine("true", cwd=str(directory / "nothing")), "directory does not exist"),
        (CommandLine("true", cwd=str(text)), "not a directory"),
    ]


async def test_what_cannot_be_started_is_unreachable_and_says_why(program: Make, tmp_path: Path) -> None:
    for command, words in unstartable(tmp_path):
        with pytest.raises(AgentUnreachable, match=words):
            await reply_of(transport("stdio_jsonrpc"), Deployment("x", command.as_options()), call())


async def test_one_that_keeps_breaking_down_is_started_less_and_less_often(program: Make) -> None:
    subject = program(*["die 1"] * 12, "echo", processes=1)
    waits = []
    for _ in range(4):
        began = time.monotonic()
        with pytest.raises(AgentUnreachable, match="exit code 1"):
            await subject.reply(call())
        waits.append(time.monotonic() - began)
    assert waits[3] > 0.4  # 0, 0, 0.25, 0.5 seconds and what it takes to start
    began = time.monotonic()
    with pytest.raises(AgentUnreachable, match="failed 4 times in a row") as refused:
        await subject.reply(call(timeout=0.3))
    assert time.monotonic() - began < 0.2
    assert 0 < refused.value.details["retry_after"] <= 1
    subject.does("echo")
    assert (await subject.reply(call())).message.text == "hi"
    assert (await subject.reply(call())).message.text == "hi"


async def test_when_the_site_is_killed_no_process_stays(tmp_path: Path) -> None:
    """The programs of a process that dies of SIGKILL, with all that they have started."""
    subject = Program(args=("fork ignore_sigterm hang",))
    script = tmp_path / "site.py"
    script.write_text(
        "import asyncio\n"
        "from django.conf import settings\n"
        "settings.configure(FUNC_ANSWER_MAX_BYTES=1000)\n"
        "from registry.transports.stdio_jsonrpc.transport import StdioJsonRpcTransport\n"
        "from registry.transports.base import AgentMessage, Call, Deployment, reply_of\n"
        f"deployment = Deployment('x', {subject.command.as_options()!r})\n"
        "call = Call(AgentMessage('hi'), 't', 'k', timeout=60)\n"
        "asyncio.run(reply_of(StdioJsonRpcTransport(), deployment, call))\n"
    )
    site = subprocess.Popen([sys.executable, str(script)], env={**os.environ, "PYTHONPATH": str(SCRIPTED.parents[5])})
    try:
        while len(subject.processes()) < 4:
            assert site.poll() is None
            await asyncio.sleep(0.05)
    finally:
        site.send_signal(signal.SIGKILL)
        site.wait()
    assert await subject.is_gone()
    assert not marked(subject.mark)
