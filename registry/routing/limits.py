"""What one asks of the Router at a time: routing costs a processor some milliseconds, which nobody may have all."""

from asyncio import Semaphore
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from common.errors import RateLimited

# Candidates.
K_MAX = 20
# Of one user in each process: so many at a time, and so many that wait for their turn.
AT_ONCE = 2
WAITING = 32


@dataclass(slots=True)
class _Line:
    length: int = 0
    turns: Semaphore = field(default_factory=lambda: Semaphore(AT_ONCE))


_lines: dict[int, _Line] = {}


@asynccontextmanager
async def turn_of(user: int) -> AsyncGenerator[None]:
    """Waits for the user's turn. Raises RateLimited where the line is long."""
    line = _lines.setdefault(user, _Line())
    if line.length >= AT_ONCE + WAITING:
        raise RateLimited("You ask for many routes at once. Please wait for some of them.", retry_after=1)
    line.length += 1
    try:
        async with line.turns:
            yield
    finally:
        line.length -= 1
        if not line.length:
            del _lines[user]
