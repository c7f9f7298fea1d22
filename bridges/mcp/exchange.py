"""One HTTP request to the MCP server: who makes it, and whether anybody still waits for its answer."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from accounts.auth import Caller
from accounts.models import User
from sessions_app import stopping

# Where it stands in the ASGI scope.
KEY = "fixie.mcp"

# asyncio keeps only weak references to tasks.
_stops: set[asyncio.Task[Any]] = set()
# What is at work in this process, by who asked it: the caller, their client, and its number of the request.
_at_work: dict[tuple[Caller, str, str], "Exchange"] = {}


@dataclass(slots=True)
class Exchange:
    """`client` is the `Mcp-Session-Id` that the client was given: request ids are its own. Empty: it has none."""

    caller: Caller
    user: User
    client: str
    given_up: bool = False
    _run: UUID | None = field(default=None, init=False)

    def give_up(self) -> None:
        """Nobody waits any more: the run that works for this request, or is about to, is to stop."""
        self.given_up = True
        self._stop()

    def begun(self, run: UUID | None) -> None:
        """`run` works for this request from now on, in the place of the one before; with None nobody does."""
        self._run = run
        if self.given_up:
            self._stop()

    @contextmanager
    def at_work(self, request: str | int | None) -> Iterator[None]:
        """While this lasts the same client may cancel the request by its number."""
        key = (self.caller, self.client, str(request))
        if self.client:
            _at_work[key] = self
        try:
            yield
        finally:
            if _at_work.get(key) is self:
                del _at_work[key]

    def _stop(self) -> None:
        """In a task of its own: who says so may be canceled with the request."""
        if self._run is None:
            return
        task = asyncio.create_task(stopping.cancel(self.caller, str(self._run)))
        self._run = None
        _stops.add(task)
        task.add_done_callback(_stops.discard)


def given_up_by(exchange: Exchange, request: str | int) -> None:
    """The client of `exchange` no longer waits for its earlier request with this number, where that is at work here."""
    found = _at_work.get((exchange.caller, exchange.client, str(request)))
    if found is not None:
        found.give_up()
