"""Every test here leaves no process behind, whatever its program does."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from registry.transports.catalog import aclose_all
from tests.registry.transports.stdio_jsonrpc.programs import Program, spawners


@pytest.fixture
async def program() -> AsyncIterator[Callable[..., Program]]:
    """`program("behaviour", …, **options)` → a program that does so with its calls."""
    made: list[Program] = []

    def make(*behaviours: str, **options: Any) -> Program:
        made.append(Program(**options))
        made[-1].does(*(behaviours or ["echo"]))
        return made[-1]

    yield make
    await aclose_all()
    left = {pid for each in made for pid in each.processes()}
    assert not left
    assert not spawners()
