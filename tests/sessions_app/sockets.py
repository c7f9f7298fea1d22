"""The session's WebSocket from a client's side."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from channels.testing import WebsocketCommunicator
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.sites import Site

Frame = dict[str, Any]
PATIENCE = 10.0


class Socket:
    """Sends and receives frames; waiting fails after 10 seconds."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **frame: Any) -> None:
        await self.connection.send(json.dumps(frame))

    async def raw(self, data: str | bytes) -> None:
        await self.connection.send(data)

    async def frame(self) -> Frame:
        async with asyncio.timeout(PATIENCE):
            return dict(json.loads(await self.connection.recv()))

    async def until(self, condition: Callable[[Frame], Any]) -> list[Frame]:
        """Frames up to the first that `condition` is true of, which is the last."""
        frames = [await self.frame()]
        while not condition(frames[-1]):
            frames.append(await self.frame())
        return frames

    async def synced(self) -> list[Frame]:
        return await self.until(lambda frame: frame["type"] == "synced")

    async def error(self) -> Frame:
        """The next `error` frame."""
        return (await self.until(lambda frame: frame["type"] == "error"))[-1]

    async def ended(self, run: str | None = None) -> list[Frame]:
        """Frames up to the end of a run (of `run`, where it is given)."""
        return await self.until(
            lambda frame: (
                frame["type"] == "run"
                and frame["status"] in ("completed", "failed", "canceled")
                and run in (None, frame["run"])
            )
        )

    async def close_code(self) -> int | None:
        """The code with which the server closes the socket; what it still says is passed over."""
        with suppress(ConnectionClosed):
            while True:
                await self.frame()
        return self.connection.close_code


def texts(frames: list[Frame], kind: str) -> list[str]:
    """What the messages of a kind among these frames say."""
    messages = [frame["message"] for frame in frames if frame["type"] == "message"]
    return [message["text"] for message in messages if message["kind"] == kind]


async def works(socket: Socket) -> bool:
    """Whether a question put to the socket is answered."""
    await socket.send(type="message", text="still there?")
    return texts(await socket.ended(), "response") == ["still there?"]


@asynccontextmanager
async def socket_to(
    site: Site,
    session: str,
    key: str | None = None,
    *,
    query: str = "",
    headers: dict[str, str] | None = None,
    **options: Any,
) -> AsyncIterator[Socket]:
    """An open socket to a session; `query` is the address's query string."""
    sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
    # Without limits: a queue that is full would keep the connection from closing.
    options = {"max_size": None, "max_queue": None, **options}
    address = f"{site.ws_url}/ws/sessions/{session}?{query}"
    async with connect(address, additional_headers=sent, proxy=None, **options) as connection:
        yield Socket(connection)


@asynccontextmanager
async def open_for_looks(socket: WebsocketCommunicator) -> AsyncIterator[None]:
    """Connects a socket inside this process, whose caller is looked at ten times a second and stays for now."""
    connected, _ = await socket.connect(timeout=PATIENCE)
    assert connected
    first = json.loads(await socket.receive_from(timeout=PATIENCE))
    assert first["type"] == "synced", first
    assert await socket.receive_nothing(timeout=0.4), "whoever may listens on"
    yield
    await socket.disconnect()
