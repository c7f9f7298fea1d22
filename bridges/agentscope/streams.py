"""An answer on its way to one reader: the frames of its session, told as the protocol's events, as bytes."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from functools import partial
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from accounts.auth import Caller
from bridges.agentscope.narration import Ending, Narrator, Told
from bridges.agentscope.positions import START, Position
from common.errors import NotFound
from registry.transports.agentscope.codec import sse_frame
from registry.transports.agentscope.models import AgentResponse
from sessions_app import frames, stopping, transcript
from sessions_app.follow import ENDED, Follower
from sessions_app.frames import Frame
from sessions_app.llm.base import Usage
from sessions_app.posting import Posted
from sessions_app.runner import execute

EVENTS = "text/event-stream"
NOT_KEPT = {"Cache-Control": "no-store"}
# Seconds in which an answer that is complete goes out in one piece.
MOMENT = 0.02

# asyncio keeps only weak references to tasks.
_stopping: set[asyncio.Task[None]] = set()


class Reading:
    """One reader of the answer to what was posted. `response` is as it stands before anything is told."""

    def __init__(
        self, caller: Caller, posted: Posted, response: AgentResponse, *, place: Position = START, cancels: bool = False
    ) -> None:
        self._caller = caller
        self._posted = posted
        self._run = str(posted.run)
        self._narrator = Narrator(self._run, response, place)
        self._cancels = cancels
        self._is_over = False
        self._is_closed = False
        # Whether a run is below this one.
        self._known: dict[str, bool] = {}
        self._follower = Follower(posted.session_id, posted.seq)
        self._follower.note(frames.run_frame(run=posted.run, status="queued", query=posted.seq, agent=None))

    async def streamed(self) -> HttpResponseBase:
        """Server-sent events as they come; in one piece where all are there in a moment, which is quicker for both."""
        posted = self._posted
        try:
            is_over = posted.running and await execute.is_over_within(posted.run, MOMENT)
        except asyncio.CancelledError:  # the client left in that moment
            self._close()
            raise
        if is_over:
            body = b"".join([_bytes(told) async for told in self._told()])
            return HttpResponse(body, content_type=EVENTS, headers=NOT_KEPT)
        response = StreamingHttpResponse(self._patiently(), content_type=EVENTS, headers=NOT_KEPT)
        # A stream whose client left before its first byte is never begun; and responses may be closed in a thread.
        close = partial(asyncio.get_running_loop().call_soon_threadsafe, self._close)
        response._resource_closers.append(close)  # type: ignore[attr-defined]  # Django has no other way
        return response

    async def whole(self) -> bytes:
        """The response once it has ended, as JSON."""
        last = [told async for told in self._told()][-1]
        return last.event.model_dump_json(exclude_none=True).encode()

    async def _patiently(self) -> AsyncIterator[bytes]:
        """The events, and heartbeats while there are none."""
        async with aclosing(self._told()) as events:
            pending = asyncio.ensure_future(anext(events, None))
            try:
                while True:
                    done, _ = await asyncio.wait([pending], timeout=settings.AGENT_API_HEARTBEAT_SECONDS)
                    if not done:
                        yield _bytes(self._narrator.heartbeat())
                        continue
                    if (told := pending.result()) is None:
                        return
                    yield _bytes(told)
                    pending = asyncio.ensure_future(anext(events, None))
            finally:
                pending.cancel()
                await asyncio.wait([pending])  # `events` cannot be closed while somebody waits for the next one

    async def _told(self) -> AsyncGenerator[Told]:
        narrator = self._narrator
        try:
            for told in narrator.begin():
                yield told
            if self._posted.status != "queued":
                for told in narrator.start():
                    yield told
            # Its session may be deleted at any time, and how it ended with it.
            last = frames.run_frame(run=self._posted.run, status="canceled", query=self._posted.seq, agent=None)
            async with aclosing(self._frames()) as happening:
                async for frame in happening:
                    if frame["type"] == "run" and frame["status"] in ENDED:
                        last = frame
                    for told in narrator.take(frame):
                        yield told
            for told in narrator.end(await self._ending(last)):
                yield told
        finally:
            self._close()

    async def _frames(self) -> AsyncGenerator[Frame]:
        """What the run and those below it have said and say; last of all how it ended."""
        posted = self._posted
        if posted.status in ENDED:
            for frame in await transcript.messages_of(posted.session_id, posted.run, query=posted.seq):
                yield frame
            for frame in await transcript.run_frames([posted.run]):
                yield frame
            return
        # A run that began with this very call has nothing stored that we could have missed.
        source = self._follower.frames() if posted.running else self._follower.follow()
        async for frame in source:
            if await self._is_ours(frame):
                self._is_over = frame["type"] == "run" and frame["status"] in ENDED
                yield frame
                if self._is_over:
                    return

    async def _is_ours(self, frame: Frame) -> bool:
        """Whether a frame is of the run, or a message of one below it: other queries may wait in the session."""
        if frame["type"] != "message":
            return frame.get("run") == self._run
        run = frame["message"]["run"]
        if run == self._run or frame["message"]["kind"] == "query":
            return bool(run == self._run)
        if run not in self._known:
            self._known[run] = await transcript.is_below(UUID(run), self._posted.run)
        return self._known[run]

    async def _ending(self, frame: Frame) -> Ending:
        """How the run ended, with what it used; its session may have been deleted meanwhile."""
        status, code = frame["status"], (frame["error"] or {}).get("code", "")
        if (used := execute.used_here(self._posted.run)) is not None and self._posted.status not in ENDED:
            return Ending(status, code, used, int(time.time()))
        place = await transcript.run_of(self._posted.run, user=self._caller.user_id, jti=None)
        if place is None or place.finished is None:
            return Ending(status, code, Usage(), int(time.time()))
        used = Usage(place.prompt_tokens, place.completion_tokens)
        return Ending(status, code, used, int(place.finished.timestamp()))

    def _close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._follower.close()
        if self._cancels and not self._is_over:
            task = asyncio.create_task(self._stop())
            _stopping.add(task)
            task.add_done_callback(_stopping.discard)

    async def _stop(self) -> None:
        with suppress(NotFound):  # its session has been deleted meanwhile
            await stopping.cancel(self._caller, self._run)


def _bytes(told: Told) -> bytes:
    return sse_frame(told.event, event_id=str(told.place))
