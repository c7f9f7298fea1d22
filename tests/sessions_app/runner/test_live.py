"""What followers are sent of a text that is being written."""

import asyncio
from functools import reduce
from uuid import uuid4

from sessions_app.frames import Frame
from sessions_app.runner.live import JOIN_SECONDS, LiveRun, Subscription, grown, hub


def opened() -> tuple[LiveRun, Subscription]:
    """A run of a session that nobody else knows, and somebody who follows it."""
    session = uuid4().int % 2**31
    return hub().open_run(session, uuid4(), lambda: None), hub().subscribe(session)


async def heard(subscription: Subscription) -> list[Frame]:
    frames = []
    while (frame := await subscription.next_frame(0.01)) is not None:
        frames.append(frame)
    return frames


def text_of(frames: list[Frame]) -> str:
    return reduce(grown, frames, "")


async def test_a_text_that_is_rewritten_again_and_again_is_sent_now_and_then() -> None:
    live, follower = opened()
    long = "x" * 100_000
    for number in range(1000):
        live.rewrite(f"{number} {long}")
    await asyncio.sleep(3 * JOIN_SECONDS)
    frames = await heard(follower)
    assert len(frames) < 10
    assert text_of(frames) == live.text == f"999 {long}"


async def test_what_is_added_after_a_rewriting_comes_after_it() -> None:
    live, follower = opened()
    live.write("Helo")
    live.rewrite("Hello")
    live.write(" there")
    live.flush()
    assert text_of(await heard(follower)) == "Hello there"
