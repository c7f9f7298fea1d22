"""A followed session as bytes: JSON lines for who asked an agent, server-sent events for who watches a session."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import orjson

from common.errors import FixieError, Unavailable, error_of
from sessions_app import frames
from sessions_app.follow import ENDED, Follower
from sessions_app.frames import Frame
from sessions_app.llm.format import read_step
from sessions_app.posting import Posted
from sessions_app.runner.live import grown

# A comment this often, in seconds, keeps proxies from closing a quiet stream.
KEEP_ALIVE = 15.0

# U+0085, U+2028, U+2029: what JSON leaves as it is and `str.splitlines` breaks at.
_LINE_BREAK = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")


class Answer:
    """The response of one run, as it grows."""

    def __init__(self, posted: Posted) -> None:
        self.posted = posted
        self.text = ""
        self.embeds: Frame = {}
        self._error = ""
        self._run = str(posted.run)
        self._follower = Follower(posted.session_id, posted.seq)
        self._follower.note(frames.run_frame(run=posted.run, status="queued", query=posted.seq, agent=None))

    async def frames(self) -> AsyncGenerator[Frame]:
        """Yields what happens in the session, each frame once it is taken in, until the run has ended.

        Raises the FixieError that the run ended with.
        """
        follower = self._follower
        # A run that began with this very call has nothing stored that we could have missed.
        frames = follower.frames() if self.posted.running else follower.follow()
        try:
            async for frame in frames:
                ended = self._take(frame)
                yield frame
                if ended:
                    return
        finally:
            follower.close()

    async def grow(self) -> AsyncIterator[str]:
        """Yields the whole text so far whenever there is more of it, until the run has ended.

        Raises the FixieError that the run ended with.
        """
        before = self.text
        async with aclosing(self.frames()) as frames:
            async for _ in frames:
                if self.text != before:
                    before = self.text
                    yield before

    def _take(self, frame: Frame) -> bool:
        """Takes what the frame says of our run; whether the run has ended. Raises its FixieError."""
        kind = frame["type"]
        if kind == "message":
            self._take_message(frame["message"])
        elif kind == "run" and frame["run"] == self._run:
            return self._take_state(frame)
        elif kind in ("snapshot", "delta") and frame["run"] == self._run:
            self.text = grown(self.text, frame)
        return False

    def _take_message(self, message: Frame) -> None:
        if message["run"] != self._run:
            return
        if message["kind"] == "response":
            self.text, self.embeds = message["text"], message["embeds"]
        elif message["kind"] == "agent_output":
            self.text, self.embeds = read_step(message["text"]).text, message["embeds"]
        elif message["kind"] == "error":
            self._error = message["text"]

    def _take_state(self, frame: Frame) -> bool:
        if frame["status"] in ("failed", "canceled"):
            raise self._failure(frame["error"])
        return frame["status"] in ENDED

    def _failure(self, error: Frame | None) -> FixieError:
        place = {"session": self.posted.session, "run": self._run}
        if error is None:
            reason = "Its session was deleted."
            return Unavailable("This query is gone. Please ask again.", reason=reason, **place)
        return error_of(error["code"], self._error or "The query was stopped.", **place)

    async def whole(self) -> str:
        """The finished response. Raises the FixieError that the run ended with."""
        async for _ in self.grow():
            pass
        return self.text

    async def lines(self) -> AsyncIterator[bytes]:
        """JSON lines, each with the whole response so far; an error becomes the last line.

        The text of that one begins with what there is of the response, as the published client shows of each line
        only what goes beyond the line before.
        Embeds are known at the end: where there are any, a last line has the whole response once more, with them.
        """
        try:
            async for text in self.grow():
                yield _one_line(self.line("response", text)) + b"\n"
            if self.embeds:
                yield _one_line(self.line("response", self.text, self.embeds)) + b"\n"
        except FixieError as error:
            text = f"{self.text}\n\n{error.message}" if self.text else error.message
            yield _one_line({**self.line("error", text), "error": error.as_dict()}) + b"\n"

    def line(self, kind: str, text: str, embeds: Frame | None = None) -> Frame:
        message: Frame = {"text": text}
        if embeds is not None:
            refs = {key: {name: embed[name] for name in ("content_type", "uri")} for key, embed in embeds.items()}
            message["embeds"] = refs
        return {"session": self.posted.session, "run": self._run, "type": kind, "message": message}


def refusal_line(session: str | None, error: FixieError) -> bytes:
    """The only line of a stream in which nothing was asked."""
    told = {"type": "error", "message": {"text": error.message}, "error": error.as_dict()}
    return _one_line({"session": session, "run": None, **told}) + b"\n"


async def events(follower: Follower) -> AsyncIterator[bytes]:
    """Server-sent events: one a frame, `id` the number of the last message, comments while nothing happens.

    Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
    """
    frames = follower.follow()
    pending = asyncio.ensure_future(anext(frames))
    try:
        while True:
            done, _ = await asyncio.wait([pending], timeout=KEEP_ALIVE)
            if not done:
                yield b": still here\n\n"
                continue
            try:
                yield _event(pending.result(), follower.last)
            except StopAsyncIteration:  # the session was deleted
                return
            pending = asyncio.ensure_future(anext(frames))
    finally:
        pending.cancel()
        follower.close()


def _event(frame: Frame, last: int) -> bytes:
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (last, frame["type"].encode(), _one_line(frame))


def _one_line(document: Frame) -> bytes:
    """JSON in one line also for readers that break lines where Unicode does, as Python's `splitlines`."""
    return _LINE_BREAK.sub(_escaped, orjson.dumps(document))


def _escaped(character: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(character[0].decode())
