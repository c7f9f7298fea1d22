"""Following a session: what is stored, then what is being written, then what happens. WebSocket, SSE and JSON
lines are this one stream in three dresses; reconnecting and first connecting are the same path."""

from collections.abc import AsyncIterator
from uuid import UUID

from sessions_app import transcript
from sessions_app.frames import Frame
from sessions_app.runner.live import Subscription, hub

# While a run is at work elsewhere a lost wake-up is made good by looking, this often in seconds.
LOOK_AGAIN = 1.0

ENDED_BADLY = ("failed", "canceled")
ENDED = ("completed", *ENDED_BADLY)


class Follower:
    """One reader of a session. `last` is the `seq` up to which it has everything."""

    def __init__(self, session_id: int, since: int) -> None:
        self.session_id = session_id
        self.last = since
        self._subscription: Subscription = hub().subscribe(session_id)
        self._unfinished: dict[str, Frame] = {}
        # How much of a run's live text was handed on, in code points.
        self._lengths: dict[str, int] = {}

    def close(self) -> None:
        self._subscription.close()

    def __del__(self) -> None:
        # A response whose client left before its first byte never runs, and so never closes.
        self.close()

    async def follow(self) -> AsyncIterator[Frame]:
        """Everything after `last`: what is stored first, then what happens, until the session is deleted."""
        async for frame in self.replay():
            yield frame
        async for frame in self._look_again():
            yield frame
        async for frame in self.frames():
            yield frame

    async def replay(self) -> AsyncIterator[Frame]:
        """Messages after `last`, the unfinished runs, and a snapshot of what each is writing."""
        # Runs before messages: what a run says that ends in between is then among the messages.
        runs = await transcript.unfinished_runs(self.session_id)
        async for frame in self._missed(endings=True):
            yield frame
        for frame in runs:
            self.note(frame)
            yield frame
        for frame in runs:
            # Agents that were asked write beside the one that asks; who waits writes nothing.
            if frame["status"] == "in_progress" and (snapshot := self._snapshot(frame["run"])) is not None:
                yield snapshot
        yield {"type": "synced", "seq": self.last}

    async def frames(self) -> AsyncIterator[Frame]:
        """What happens from now on, until the session is deleted; what was lost on the way comes from the database."""
        while True:
            frame = await self._subscription.next_frame(LOOK_AGAIN if self._unfinished else None)
            if self._subscription.lagged:
                self._subscription.lagged = False
                async for missed in self.replay():
                    yield missed
            if frame is None:
                async for missed in self._look_again():
                    yield missed
            elif frame["type"] == "session" and frame["deleted"]:
                yield frame
                return
            else:
                async for accepted in self._accept(frame):
                    yield accepted

    async def _accept(self, frame: Frame) -> AsyncIterator[Frame]:
        if frame["type"] == "run":
            self.note(frame)
        if frame["type"] != "message":
            if (fitting := self._fitting(frame)) is not None:
                yield fitting
            return
        seq = frame["message"]["seq"]
        if seq > self.last + 1:
            async for missed in self._missed():
                yield missed
        elif seq == self.last + 1:
            self.last = seq
            yield frame

    def _fitting(self, frame: Frame) -> Frame | None:
        """The frame; but for a delta that does not join what was handed on a snapshot, or nothing if there is none.

        Where there is none the run has ended, and its message is on its way, or it executes elsewhere, and the
        snapshot is.
        """
        if frame["type"] == "snapshot":
            self._lengths[frame["run"]] = len(frame["text"])
        elif frame["type"] == "delta":
            known = self._lengths.get(frame["run"], 0)
            if frame["offset"] > known:
                return self._snapshot(frame["run"])
            self._lengths[frame["run"]] = max(known, frame["offset"] + len(frame["text"]))
        return frame

    def _snapshot(self, run: str) -> Frame | None:
        snapshot = hub().ask_snapshot(UUID(run))
        if snapshot is None:
            return None
        self._subscription.pass_over_text(run)  # which waits for us, and is older
        return self._fitting(snapshot)

    def note(self, frame: Frame) -> None:
        """Takes a `run` frame: while the run is unfinished, its ending is looked for in the database too."""
        if frame["status"] in ENDED:
            self._unfinished.pop(frame["run"], None)
            self._lengths.pop(frame["run"], None)
        else:
            self._unfinished[frame["run"]] = frame

    async def _missed(self, *, endings: bool = False) -> AsyncIterator[Frame]:
        """Messages after `last`, which moves on with each of them.

        With `endings` also how their runs ended, where that was not well: a stopped answer looks like any.
        """
        while page := await transcript.messages_after(self.session_id, self.last):
            for frame in page:
                self.last = frame["message"]["seq"]
                yield frame
            runs = {UUID(frame["message"]["run"]) for frame in page} if endings else ()
            for frame in await transcript.run_frames(list(runs)) if runs else ():
                if frame["status"] in ENDED_BADLY:
                    yield frame
            if len(page) < transcript.PAGE:
                return

    async def _look_again(self) -> AsyncIterator[Frame]:
        remote = [run for run in map(UUID, self._unfinished) if not hub().is_local(run)]
        if not remote:
            return
        # States before messages: what a run has said by its end is then among the messages.
        states = {frame["run"]: frame for frame in await transcript.run_frames(remote)}
        async for frame in self._missed():
            yield frame
        for run in map(str, remote):
            # A run that is nowhere went with its session.
            frame = states.get(run) or {**self._unfinished[run], "status": "canceled"}
            if frame["status"] in ENDED:
                self.note(frame)
                yield frame
