"""What happens in a session right now: frames to everyone who follows it, and the text a run is writing.

Followers in this process get frames directly. With a shared channel layer (Redis) every frame also goes to the
group `session.<id>`, where other processes' relays pick it up, and `run.<id>` carries `cancel` and `snapshot` to
whoever executes the run. A layer may drop what it carries: frames are wake-ups, the database is the truth.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any
from uuid import UUID

from sessions_app.runner.relay import Relay

Frame = dict[str, Any]

# Tokens are joined for at most this long, in seconds.
JOIN_SECONDS = 0.03
# Frames that tell of the text that a run is writing.
WRITTEN = ("delta", "snapshot")
# Characters a second, of texts that are sent as a whole again and again.
SNAPSHOT_RATE = 4_000_000
# A follower who is this many frames behind starts again from the database.
BACKLOG = 2000


def grown(text: str, frame: Frame) -> str:
    """The `text` that a run has written after a `snapshot` of it, or a `delta` that joins or overlaps it."""
    if frame["type"] == "snapshot":
        return str(frame["text"])
    # A delta that was under way when a snapshot was made is told after it, and brings nothing new.
    offset, piece = frame["offset"], frame["text"]
    return f"{text[:offset]}{piece}" if offset + len(piece) > len(text) else text


class Subscription:
    """One follower's place in line. Read it with `next_frame`, close it when done."""

    __slots__ = ("_frames", "_hub", "_waiter", "lagged", "session_id")

    def __init__(self, hub: "Hub", session_id: int) -> None:
        self.session_id = session_id
        self.lagged = False
        self._hub = hub
        self._frames: deque[Frame] = deque()
        self._waiter: asyncio.Future[None] | None = None

    def put(self, frame: Frame) -> None:
        if len(self._frames) >= BACKLOG:
            self._frames.clear()
            self.lagged = True
        self._frames.append(frame)
        self._wake()

    def start_again(self) -> None:
        """Makes the follower read from the database: frames may have passed it by."""
        self.lagged = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def next_frame(self, timeout: float | None = None) -> Frame | None:
        """The next frame, or None after `timeout` seconds without one, or where there is a reason to start again."""
        if not self._frames:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                async with asyncio.timeout(timeout):
                    await self._waiter
            except TimeoutError:
                return None
            finally:
                self._waiter = None
        return self._frames.popleft() if self._frames else None

    def pass_over_text(self, run: str) -> None:
        """Drops what waits to be read of the text that a run is writing."""
        kept = [frame for frame in self._frames if frame["type"] not in WRITTEN or frame["run"] != run]
        self._frames = deque(kept)

    def close(self) -> None:
        self._hub.unsubscribe(self)


class LiveRun:
    """The response that a run of this process is writing."""

    def __init__(self, hub: "Hub", session_id: int, run: UUID, cancel: Callable[[], None]) -> None:
        self.session_id = session_id
        self.run = str(run)
        self.cancel = cancel
        self._hub = hub
        self._sent: list[str] = []
        self._sent_length = 0
        self._pending: list[str] = []
        self._rewritten = False
        self._timer: asyncio.TimerHandle | None = None
        self._flushed_at = 0.0

    @property
    def text(self) -> str:
        """All that was written so far."""
        return "".join(self._sent) + "".join(self._pending)

    def write(self, text: str) -> None:
        """Adds to the response. Followers see it at once, or joined with what follows within 30 ms."""
        self._pending.append(text)
        self._flush_soon(JOIN_SECONDS)

    def _flush_soon(self, seconds: float) -> None:
        """Flushes `seconds` after the last time; at once where these are over."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            wait = self._flushed_at + seconds - loop.time()
            if wait <= 0:
                self.flush()
            else:
                self._timer = loop.call_later(wait, self.flush)

    def rewrite(self, text: str) -> None:
        """Makes `text` the whole response so far; what only continues the old text is sent as a delta.

        Else followers see all of it anew, long texts less often: SNAPSHOT_RATE bounds what that costs.
        """
        before = self.text
        if text.startswith(before):
            if len(text) > len(before):
                self.write(text[len(before) :])
            return
        self._sent, self._sent_length, self._pending = [text], len(text), []
        self._rewritten = True
        self._flush_soon(max(JOIN_SECONDS, len(text) / SNAPSHOT_RATE))

    def flush(self) -> None:
        """Sends what is pending as one delta, or all where it was rewritten; `offset` counts Unicode code points."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._rewritten:
            self._rewritten = False
            self._flushed_at = asyncio.get_running_loop().time()
            self._sent, self._pending = [self.text], []
            self._sent_length = len(self._sent[0])
            self._hub.publish(self.session_id, {"type": "snapshot", "run": self.run, "text": self._sent[0]})
        if not self._pending:
            return
        text = "".join(self._pending)
        frame = {"type": "delta", "run": self.run, "offset": self._sent_length, "text": text}
        self._pending.clear()
        self._sent.append(text)
        self._sent_length += len(text)
        self._flushed_at = asyncio.get_running_loop().time()
        self._hub.publish(self.session_id, frame)

    def close(self) -> None:
        """Drops what is still pending: it is the text of a run that somebody else writes anew."""
        self._pending.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def snapshot_frame(self) -> Frame:
        self.flush()
        self._sent = ["".join(self._sent)]
        return {"type": "snapshot", "run": self.run, "text": self._sent[0]}

    def snapshot(self) -> None:
        """Sends the whole text to everyone."""
        self._hub.publish(self.session_id, self.snapshot_frame())


class Hub:
    """The followers and the runs of this process; one an event loop."""

    def __init__(self) -> None:
        self._followers: dict[int, set[Subscription]] = {}
        self._runs: dict[UUID, LiveRun] = {}
        self._relay = Relay(self._on_relayed, self._on_gap)

    def subscribe(self, session_id: int) -> Subscription:
        subscription = Subscription(self, session_id)
        followers = self._followers.setdefault(session_id, set())
        if not followers:
            self._relay.join(f"session.{session_id}")
        followers.add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        followers = self._followers.get(subscription.session_id, set())
        followers.discard(subscription)
        if not followers and self._followers.pop(subscription.session_id, None) is not None:
            self._relay.leave(f"session.{subscription.session_id}")

    def publish(self, session_id: int, frame: Frame) -> None:
        """Hands a frame to every follower of the session, here and in other processes."""
        for follower in self._followers.get(session_id, ()):
            follower.put(frame)
        self._relay.send(f"session.{session_id}", {"session": session_id, "frame": frame})

    def open_run(self, session_id: int, run: UUID, cancel: Callable[[], None]) -> LiveRun:
        live = self._runs[run] = LiveRun(self, session_id, run, cancel)
        self._relay.join(f"run.{run}")
        return live

    def close_run(self, run: UUID) -> None:
        if (live := self._runs.pop(run, None)) is not None:
            live.close()
            self._relay.leave(f"run.{run}")

    def is_local(self, run: UUID) -> bool:
        return run in self._runs

    def cancel(self, run: UUID) -> None:
        """Stops the run, wherever it executes; a lost message is made good by the owner's next heartbeat."""
        if (live := self._runs.get(run)) is not None:
            live.cancel()
        else:
            self._relay.send(f"run.{run}", {"run": str(run), "order": "cancel"})

    def ask_snapshot(self, run: UUID) -> Frame | None:
        """The text the run has written, if it executes here; else asks its process to send it to everyone."""
        if (live := self._runs.get(run)) is not None:
            return live.snapshot_frame()
        self._relay.send(f"run.{run}", {"run": str(run), "order": "snapshot"})
        return None

    def _on_gap(self) -> None:
        for followers in self._followers.values():
            for follower in followers:
                follower.start_again()
        for live in self._runs.values():  # whoever asked for a snapshot meanwhile was not heard
            live.snapshot()

    def _on_relayed(self, payload: dict[str, Any]) -> None:
        if "frame" in payload:
            for follower in self._followers.get(payload["session"], ()):
                follower.put(payload["frame"])
        elif (live := self._runs.get(UUID(payload["run"]))) is not None:
            live.cancel() if payload["order"] == "cancel" else live.snapshot()


_hub: tuple[asyncio.AbstractEventLoop, Hub] | None = None


def hub() -> Hub:
    """The hub of the running event loop."""
    global _hub
    loop = asyncio.get_running_loop()
    if _hub is None or _hub[0] is not loop:
        _hub = (loop, Hub())
    return _hub[1]
