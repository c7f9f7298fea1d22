"""The processes that extract: bounded, replaced when they die, and gone when nobody needs them."""

import asyncio
import os
import signal
import sys
import time
import zlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from registry.corpora.extraction import Extraction, Unreadable
from tests.registry.corpora.documents import pdf, pdf_of
from tests.sites import ROOT


@pytest.fixture
async def small() -> AsyncIterator[Extraction]:
    """Extraction with one process that is allowed little."""
    extraction = Extraction(processes=1, seconds=10, cpu_seconds=5, memory=200 * 1024 * 1024, idle_seconds=0.2)
    yield extraction
    await extraction.aclose()


async def refused(extraction: Extraction, content: bytes, content_type: str) -> str:
    with pytest.raises(Unreadable) as error:
        await extraction.extract(content, content_type)
    return error.value.reason


async def test_memory_is_bounded_and_the_next_document_is_read(small: Extraction) -> None:
    await refused(small, b"<p>x" * 2_000_000, "text/html")
    reason = await refused(small, b"x" * 100_000_000, "text/plain")
    assert reason == "Reading it takes more memory than one document may."
    assert (await small.extract(b"Still here", "text/plain")).text == "Still here"


async def test_computing_time_is_bounded_and_the_next_document_is_read(small: Extraction) -> None:
    small._cpu_seconds = 0
    table = zlib.compress(b"BT " + b"/F1 12 Tf 1 0 0 1 0 0 Tm (a) Tj " * 150_000)
    reason = await refused(small, pdf_of([table] * 10), "application/pdf")
    assert reason == "Reading it takes more computing time than one document may."
    small._cpu_seconds = 5
    assert (await small.extract(b"Still here", "text/plain")).text == "Still here"


async def test_time_is_bounded_and_the_next_document_is_read(small: Extraction) -> None:
    await small.extract(b"warm", "text/plain")
    os.kill(small._idle[0].pid, signal.SIGSTOP)
    small._seconds = 0.3
    assert await refused(small, b"words", "text/plain") == "Reading it takes longer than 0.3 seconds."
    small._seconds = 10
    assert (await small.extract(b"Still here", "text/plain")).text == "Still here"


async def test_a_process_that_is_killed_is_replaced(small: Extraction) -> None:
    await small.extract(b"warm", "text/plain")
    os.kill(small._idle[0].pid, signal.SIGKILL)
    await asyncio.sleep(0.05)
    assert (await small.extract(b"Still here", "text/plain")).text == "Still here"


async def test_a_caller_who_leaves_takes_no_answer_from_the_next(small: Extraction) -> None:
    await small.extract(b"warm", "text/plain")
    leaving = asyncio.create_task(small.extract(pdf("Old answer."), "application/pdf"))
    await asyncio.sleep(0)
    leaving.cancel()
    assert (await small.extract(b"New answer", "text/plain")).text == "New answer"


async def test_processes_without_work_end(small: Extraction) -> None:
    await small.extract(b"warm", "text/plain")
    pid = small._idle[0].pid
    await asyncio.sleep(0.5)
    assert small._idle == []
    assert not is_alive(pid)


async def test_many_documents_at_once_wait_their_turn(small: Extraction) -> None:
    texts = [f"document {number}" for number in range(20)]
    found = await asyncio.gather(*(small.extract(text.encode(), "text/plain") for text in texts))
    assert [each.text for each in found] == texts
    assert len(small._idle) == 1


def is_alive(pid: int) -> bool:
    """Whether there is such a process that has not ended, waited for or not."""
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "zombie" not in status.read_text()


def names_in_environment(pid: int) -> set[str]:
    entries = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return {entry.partition("=")[0] for entry in entries if entry}


HOLDER = """
import asyncio, sys
from registry.corpora.extraction import Extraction
async def main():
    extraction = Extraction(processes=1)
    await extraction.extract(b"warm", "text/plain")
    print(extraction._idle[0].pid, flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_processes_end_with_the_site_even_if_it_is_killed() -> None:
    site = await asyncio.create_subprocess_exec(sys.executable, "-c", HOLDER, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    pid = int(await site.stdout.readline())
    assert is_alive(pid)
    site.kill()
    await site.wait()
    ends = time.monotonic() + 5
    while is_alive(pid):
        assert time.monotonic() < ends
        await asyncio.sleep(0.02)


async def test_the_process_knows_none_of_our_secrets(small: Extraction) -> None:
    await small.extract(b"warm", "text/plain")
    assert names_in_environment(small._idle[0].pid) == {"PYTHONPATH", "LANG"}


def test_the_site_itself_loads_no_library_that_reads_documents() -> None:
    code = (
        "import sys, registry.corpora.crawl, registry.corpora.funcs\n"
        "assert not {'lxml', 'pypdf', 'trafilatura', 'protego'} & set(sys.modules)"
    )
    assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", code]) == 0
