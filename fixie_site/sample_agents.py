"""The sample agents of `examples/agents`: one child process that serves them all, registered as `fixie/…`."""

import asyncio
import sys
import time
from pathlib import Path

from django.conf import settings

from accounts.models import User
from common.db import run_db
from common.errors import FixieError
from common.handles import SITE_OWNER
from examples.agents import SAMPLES, Sample
from registry.actions import Reading
from registry.bootstrap import ensure_external_agent
from registry.manifests.reading import read_for
from registry.routing.indexing import not_indexed

# A child that says nothing for this long, in seconds, is not coming.
START_SECONDS = 15.0
STOP_SECONDS = 3.0
# Until the Router knows them; a machine that takes longer says so.
INDEX_SECONDS = 10.0


class SampleAgents:
    """Starts and stops the child. It also ends by itself when its standard input closes, as ours does when killed."""

    def __init__(self) -> None:
        self._child: asyncio.subprocess.Process | None = None

    async def start(self, user_id: int) -> list[str]:
        """Serves and registers every sample agent. Returns what went wrong, in words; the site runs on without."""
        port = await self._spawn(_last_port()) or await self._spawn(0)
        if port is None:
            return ["The sample agents did not start; the site runs without them."]
        _port_file().write_text(str(port))
        return [problem for sample in SAMPLES if (problem := await _register(sample, user_id, port))]

    async def stop(self) -> None:
        if self._child is None or self._child.returncode is not None:
            return
        self._child.terminate()
        try:
            await asyncio.wait_for(self._child.wait(), STOP_SECONDS)
        except TimeoutError:
            self._child.kill()
            await self._child.wait()

    async def _spawn(self, port: int) -> int | None:
        """Starts the child on `port` (0: any) and returns the port it listens on; None where it ended instead."""
        self._child = await asyncio.create_subprocess_exec(
            sys.executable,
            *(
                "-m",
                "examples.agents",
                "--port",
                str(port),
                "--fixie",
                settings.SITE_URL,
                # Without --owner: they keep nothing of anybody, so people may register them once more as their own.
                "--until-stdin-closes",
            ),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd=settings.BASE_DIR,
            # Ctrl-C reaches the whole group; the child is told to stop by us, after the site has.
            start_new_session=True,
        )
        assert self._child.stdout is not None
        try:
            line = await asyncio.wait_for(self._child.stdout.readline(), START_SECONDS)
        except TimeoutError:
            await self.stop()
            return None
        word, _, number = line.decode().strip().partition(" ")
        return int(number) if word == "ready" else None


async def until_routed() -> list[str]:
    """Waits until a question that names no agent finds the site's own ones; at once where nothing has changed.

    Returns why it does not, in words.
    """
    end = time.monotonic() + INDEX_SECONDS
    while (missing := await run_db(not_indexed, SITE_OWNER)) and not all(missing.values()):
        if time.monotonic() > end:
            break
        await asyncio.sleep(0.05)
    if not missing:
        return []
    reasons = sorted(set(filter(None, missing.values()))) or ["It is still learning what they can be asked."]
    example = f"@{SITE_OWNER}/{next(iter(missing))}"
    return [
        f"The Router does not know {len(missing)} agents yet; address them until then: {example} … {' '.join(reasons)}"
    ]


async def _register(sample: Sample, user_id: int, port: int) -> str | None:
    """Registers one sample as it runs now. Returns what went wrong, if anything."""
    reading = await read_for(user_id, f"fixie/{sample.handle}", f"http://127.0.0.1:{port}/{sample.handle}")
    if isinstance(reading.result, FixieError):
        return f"fixie/{sample.handle}: {reading.result.message}"
    await run_db(_ensure, sample, user_id, reading)
    return None


def _ensure(sample: Sample, user_id: int, reading: Reading) -> None:
    ensure_external_agent(
        by=User.objects.get(pk=user_id),
        owner="fixie",
        handle=sample.handle,
        name=sample.name,
        description=sample.description,
        reading=reading,
    )


def _port_file() -> Path:
    return Path(settings.VAR) / "sample-agents-port"


def _last_port() -> int:
    """The port of the last start, so that the agents keep their addresses; 0 where there was none."""
    try:
        return int(_port_file().read_text())
    except (FileNotFoundError, ValueError):
        return 0
