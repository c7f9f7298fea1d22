"""Sockets that a browser's cookie opens: they end with what let them in.

That is the browser's session, which goes when somebody signs out, and while an operator acts as somebody else, that
they may. Who may not come in any more for another reason is the socket's own to notice.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import structlog
from django.conf import settings

from accounts.sign_in_as import Acting, acting_in
from common.db import RETRYABLE, run_db
from fixie_site.acting import is_forbidden

# How long a socket may outlive what let it in.
CHECK_SECONDS, ACTING_CHECK_SECONDS = 30.0, 5.0
CLOSED = 1000

SessionStore = import_module(settings.SESSION_ENGINE).SessionStore


def bounded(app: Any) -> Any:
    """An ASGI application of sockets, behind channels' sessions."""

    async def answered(scope: Any, receive: Any, send: Any) -> None:
        session = scope.get("session")
        acting = acting_in(session)
        key = session.session_key if session is not None else None
        if acting is not None:
            if is_forbidden(scope["path"]) or not await run_db(acting.is_good):
                await send({"type": "websocket.close"})
                return
            structlog.contextvars.bind_contextvars(user=acting.user, operator=acting.operator)
        await app(scope, receive if key is None else _Receiving(key, acting, receive, send), send)

    return answered


@dataclass(slots=True)
class _Receiving:
    """`receive` of an open socket: it closes the socket instead of hearing who may no more."""

    session_key: str
    acting: Acting | None
    receive: Any
    send: Any
    checked: float = field(default_factory=time.monotonic)

    async def __call__(self) -> Any:
        while True:
            message = None
            with suppress(TimeoutError):
                async with asyncio.timeout(self._left()):
                    message = await self.receive()
            if message is not None and message["type"] != "websocket.receive":
                return message
            if not await self._is_good(spoken=message is not None):
                await self.send({"type": "websocket.close"})
                return {"type": "websocket.disconnect", "code": CLOSED}
            if message is not None:
                return message

    def _left(self) -> float:
        """Seconds until the next look."""
        since = time.monotonic() - self.checked
        if self.acting is None:
            return max(0.0, CHECK_SECONDS - since)
        return max(0.0, min(ACTING_CHECK_SECONDS - since, self.acting.until - time.time()))

    async def _is_good(self, *, spoken: bool) -> bool:
        """Whether they may stay. In somebody else's name nothing is said that was not asked about first."""
        if self._left() > 0 and not (spoken and self.acting is not None):
            return True
        self.checked = time.monotonic()
        try:
            return await run_db(_is_signed_in, self.session_key, self.acting)
        except RETRYABLE:  # the database is away for a moment
            return not spoken or self.acting is None


def _is_signed_in(session_key: str, acting: Acting | None) -> bool:
    signed_in: bool = SessionStore().exists(session_key)
    return signed_in and (acting is None or acting.is_good())
