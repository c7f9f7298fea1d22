"""Frames between processes, over a channel layer that they share. Does nothing where the layer is in memory."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from channels.layers import InMemoryChannelLayer, get_channel_layer

log = structlog.get_logger()

Payload = dict[str, Any]

# This often, in seconds, a process asks itself whether the layer still knows it.
PROBE_SECONDS = 2.0


class Relay:
    """One channel for the whole process, however many sessions it follows.

    Joining, leaving and sending go through one queue, so that they reach the layer in the order they were
    asked for, and nobody waits for the layer.

    Redis forgets who is in which group when it restarts, and after a day. So the relay sends itself a probe now
    and then; when one is lost it joins everything anew, and calls `on_gap` once a probe comes through: frames
    may have passed by.
    """

    def __init__(self, on_payload: Callable[[Payload], None], on_gap: Callable[[], None]) -> None:
        layer = get_channel_layer()
        self._layer: Any = None if isinstance(layer, InMemoryChannelLayer) else layer
        self._on_payload = on_payload
        self._on_gap = on_gap
        self._sender = uuid.uuid4().hex
        self._groups: set[str] = set()
        self._probed = asyncio.Event()
        self._outbox: asyncio.Queue[tuple[str, str, Payload]] = asyncio.Queue(maxsize=10_000)
        self._tasks: list[asyncio.Task[None]] = []

    def join(self, group: str) -> None:
        self._groups.add(group)
        self._put("group_add", group, {})

    def leave(self, group: str) -> None:
        self._groups.discard(group)
        self._put("group_discard", group, {})

    def send(self, group: str, payload: Payload) -> None:
        self._put("group_send", group, payload)

    def _put(self, verb: str, group: str, payload: Payload) -> None:
        if self._layer is None:
            return
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._work())]
        try:
            self._outbox.put_nowait((verb, group, payload))
        except asyncio.QueueFull:
            log.warning("relay_full", group=group)

    async def _work(self) -> None:
        channel = await self._layer.new_channel("fixie")
        self._tasks += asyncio.create_task(self._receive(channel)), asyncio.create_task(self._probe())
        while True:
            verb, group, payload = await self._outbox.get()
            message = {"type": "live", "from": self._sender, **payload}
            argument = message if verb == "group_send" else channel
            try:
                await getattr(self._layer, verb)(group, argument)
            except Exception as error:  # Redis away: followers fall back to the database
                log.warning("relay_failed", verb=verb, error=type(error).__name__)

    async def _receive(self, channel: str) -> None:
        while True:
            try:
                message = await self._layer.receive(channel)
            except Exception as error:  # Redis away: try again until it is back
                log.warning("relay_failed", verb="receive", error=type(error).__name__)
                await asyncio.sleep(1)
                continue
            if message.get("from") != self._sender:
                self._on_payload(message)
            elif "probe" in message:
                self._probed.set()

    async def _probe(self) -> None:
        own = f"relay.{self._sender}"
        self.join(own)
        was_lost = False
        while True:
            self._probed.clear()
            self.send(own, {"probe": True})
            try:
                async with asyncio.timeout(PROBE_SECONDS):
                    await self._probed.wait()
            except TimeoutError:
                was_lost = True
                self._join_again()
                continue
            if was_lost:
                was_lost = False
                self._on_gap()
            await asyncio.sleep(PROBE_SECONDS)

    def _join_again(self) -> None:
        if self._outbox.empty():  # else the layer is slow or away, and the next probe will tell
            log.warning("relay_joins_again", groups=len(self._groups))
            for group in self._groups:
                self._put("group_add", group, {})
