"""The WebSocket of a session: frames of `follow` out, messages and cancels in."""

import asyncio
from typing import Any
from urllib.parse import parse_qs

import orjson
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings

from accounts.auth import Caller, caller_of_socket
from common.db import RETRYABLE
from common.errors import FixieError, InvalidRequest, PayloadTooLarge, Unauthenticated, Unavailable
from sessions_app import fetching, posting, stopping, transcript
from sessions_app.access import MISSING, missing
from sessions_app.fetching import Offer
from sessions_app.follow import Follower
from sessions_app.frames import Frame

# A text of the greatest length, every character escaped as `\uXXXX`, and its envelope.
FRAME_MAX = settings.MESSAGE_MAX_BYTES * 6 + 4096
CLOSE_UNAUTHENTICATED, CLOSE_NOT_FOUND, CLOSE_TRY_AGAIN = 4401, 4404, 1013
# How long somebody may still listen who was switched off, or whose key was revoked; they say nothing from then on.
CALLER_CHECK_SECONDS = 30.0


class SessionConsumer(AsyncWebsocketConsumer):
    """`/ws/sessions/{handle}?since=SEQ`. A frame we do not understand gets an `error` frame, nothing worse."""

    # Frames come from the process's own hub: no channel, and no task to read it, for each socket.
    channel_layer_alias = "none"

    caller: Caller
    handle: str
    follower: Follower | None = None
    pump: asyncio.Task[None] | None = None
    watch: asyncio.Task[None] | None = None

    async def connect(self) -> None:
        await self.accept()
        self.client_ids: dict[str, str] = {}
        self.handle = self.scope["url_route"]["kwargs"]["handle"]
        try:
            self.caller = await caller_of_socket(self.scope)
            await self._follow(self._since())
            self.watch = asyncio.create_task(self._watch())
        except FixieError as error:
            await self._hang_up(error)

    async def disconnect(self, code: int) -> None:
        if self.watch is not None:
            self.watch.cancel()
        self._unfollow()

    async def _watch(self) -> None:
        """Hangs up on a caller who may not listen any more."""
        while True:
            await asyncio.sleep(CALLER_CHECK_SECONDS)
            try:
                if await transcript.place_of(self.handle, user=self.caller.user_id, jti=self.caller.jti) is None:
                    raise await missing(self.caller, MISSING, field="session")
            except FixieError as error:
                self._unfollow()
                await self._hang_up(error)
                return
            except RETRYABLE:
                continue

    async def _hang_up(self, error: FixieError) -> None:
        await self._send_error(error)
        await self.close(CLOSE_NOT_FOUND if error.http_status == 404 else CLOSE_UNAUTHENTICATED)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        frame: Frame = {}
        try:
            frame = _parsed(text_data)
            await self._on_frame(frame)
        except Unauthenticated as error:  # a key that was revoked hears and says nothing more
            await self._send_error(error, client_id=frame.get("client_id"))
            await self.close(CLOSE_UNAUTHENTICATED)
        except FixieError as error:
            await self._send_error(error, client_id=frame.get("client_id"))
        except RETRYABLE:
            away = Unavailable("The database is away for a moment. Please try again.")
            await self._send_error(away, client_id=frame.get("client_id"))

    async def _on_frame(self, frame: Frame) -> None:
        match frame.get("type"):
            case "message":
                await self._on_message(frame)
            case "cancel":
                await stopping.cancel(self.caller, _string(frame, "run"))
            case "sync":
                await self._follow(_number(frame, "since"))
            case _:
                raise InvalidRequest("type must be message, cancel or sync.", field="type")

    async def _on_message(self, frame: Frame) -> None:
        client_id = _string(frame, "client_id") if "client_id" in frame else None
        if client_id is not None:
            self.client_ids[str(posting.run_id(self.caller, self.handle, client_id))] = client_id
        posted = await posting.post(
            self.caller,
            self.handle,
            _string(frame, "text"),
            embeds=await fetching.resolved(self.caller, _offers(frame)),
            if_busy=_string(frame, "if_busy") if "if_busy" in frame else "enqueue",
            client_id=client_id,
        )
        if posted.again and self.follower is not None and posted.seq <= self.follower.last:
            for stored in await transcript.messages_after(posted.session_id, posted.seq - 1, limit=1):
                await self._send(self._tagged(stored))

    def _tagged(self, frame: Frame) -> Frame:
        """The frame, with the `client_id` under which this socket posted the message."""
        if frame["type"] != "message" or frame["message"]["kind"] != "query":
            return frame
        client_id = self.client_ids.get(frame["message"]["run"])
        return frame if client_id is None else {**frame, "message": {**frame["message"], "client_id": client_id}}

    async def _follow(self, since: int) -> None:
        """Starts (again) from `since`; whatever was followed before is dropped."""
        place = await transcript.place_of(self.handle, user=self.caller.user_id, jti=self.caller.jti)
        if place is None:
            raise await missing(self.caller, MISSING, field="session")
        self._unfollow()
        self.follower = Follower(place.session_id, min(since, place.last_seq))
        self.pump = asyncio.create_task(self._pump(self.follower))

    def _unfollow(self) -> None:
        if self.pump is not None:
            self.pump.cancel()
        if self.follower is not None:
            self.follower.close()

    async def _pump(self, follower: Follower) -> None:
        try:
            async for frame in follower.follow():
                await self._send(self._tagged(frame))
            await self.close(CLOSE_NOT_FOUND)
        except RETRYABLE:  # it has waited long for the database: the client is to try again later
            await self.close(CLOSE_TRY_AGAIN)

    async def _send(self, frame: Frame) -> None:
        await self.send(text_data=orjson.dumps(frame).decode())

    async def _send_error(self, error: FixieError, client_id: Any = None) -> None:
        frame = {"type": "error", **error.as_dict()}
        await self._send({**frame, "client_id": client_id} if client_id is not None else frame)

    def _since(self) -> int:
        value = parse_qs(self.scope["query_string"].decode("latin-1")).get("since", ["0"])[0]
        return int(value) if value.isdecimal() and len(value) < 10 else 0


def _parsed(text: str | None) -> Frame:
    if text is None:
        raise InvalidRequest("Frames are JSON text, not binary.", field="frame")
    if len(text) > FRAME_MAX:
        raise PayloadTooLarge(f"A frame may have {FRAME_MAX} characters.", field="frame", limit=FRAME_MAX)
    try:
        frame = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise InvalidRequest("The frame is not JSON.", field="frame") from None
    if not isinstance(frame, dict):
        raise InvalidRequest("A frame is a JSON object.", field="frame")
    return frame


def _string(frame: Frame, field: str) -> str:
    value = frame.get(field)
    if not isinstance(value, str):
        raise InvalidRequest(f"{field} must be a string.", field=field)
    return value


def _offers(frame: Frame) -> dict[str, Offer]:
    """The embeds of a message: uploaded before, for a handler must not wait for what is fetched."""
    embeds = frame.get("embeds") or {}
    if not isinstance(embeds, dict):
        raise InvalidRequest("embeds must be an object.", field="embeds")
    for key, embed in embeds.items():
        if not isinstance(embed, dict) or not isinstance(embed.get("id"), str):
            problem = "Over a socket, an embed is named by its id: upload it first, with POST /api/embeds."
            raise InvalidRequest(problem, field=f"embeds.{key[: fetching.KEY_LENGTH_MAX]}.id")
    return {key: Offer(id=embed["id"]) for key, embed in embeds.items()}


def _number(frame: Frame, field: str) -> int:
    value = frame.get(field)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidRequest(f"{field} must be a number of 0 or more.", field=field)
    return value
