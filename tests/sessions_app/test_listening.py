"""Who may not come in any more does not go on listening at a socket that was opened before."""

import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import orjson
import pytest
from channels.testing import WebsocketCommunicator

from accounts.models import ApiKey, User
from common.db import run_db
from sessions_app import consumers
from sessions_app.models import Session
from tests.sessions_app.sockets import open_for_looks

Socket = WebsocketCommunicator


@pytest.fixture
async def user(make_user: Callable[..., User]) -> User:
    return await run_db(make_user)


@pytest.fixture
async def socket(
    user: User, api_key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[WebsocketCommunicator]:
    """A socket at a session of the user's, whose caller is looked at ten times a second."""
    monkeypatch.setattr(consumers, "CALLER_CHECK_SECONDS", 0.1)
    session = await Session.objects.acreate(handle=f"s-{uuid.uuid4().hex}", owner=user)
    key = await run_db(api_key, user)
    headers = [(b"authorization", f"Bearer {key}".encode())]
    socket = Socket(consumers.SessionConsumer.as_asgi(), f"/ws/sessions/{session.handle}", headers=headers)
    socket.scope["url_route"] = {"kwargs": {"handle": session.handle}}
    async with open_for_looks(socket):
        yield socket


async def ends(socket: WebsocketCommunicator) -> tuple[str, int]:
    """The code of the error, and that of the close."""
    told = orjson.loads(await socket.receive_from(timeout=10))
    closed = await socket.receive_output(timeout=10)
    return told["code"], closed["code"]


async def test_whoever_is_switched_off_hears_nothing_more(socket: WebsocketCommunicator, user: User) -> None:
    await User.objects.filter(pk=user.pk).aupdate(is_active=False)

    assert await ends(socket) == ("unauthenticated", consumers.CLOSE_UNAUTHENTICATED)


async def test_nor_does_who_came_with_a_key_that_is_revoked(socket: WebsocketCommunicator, user: User) -> None:
    await ApiKey.objects.filter(user=user).aupdate(revoked=datetime.now(UTC))

    assert await ends(socket) == ("unauthenticated", consumers.CLOSE_UNAUTHENTICATED)


async def test_nor_does_anybody_at_a_session_that_is_gone(socket: WebsocketCommunicator, user: User) -> None:
    await Session.objects.filter(owner=user).aupdate(deleted=datetime.now(UTC))

    assert await ends(socket) == ("not_found", consumers.CLOSE_NOT_FOUND)
