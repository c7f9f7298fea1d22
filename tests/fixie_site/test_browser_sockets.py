"""Sockets of browsers end with what let them in: a sign-in, or that an operator acts as somebody."""

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from channels.testing import WebsocketCommunicator
from django.test import Client

from accounts.models import User
from common.db import run_db
from fixie_site import browser_sockets
from fixie_site.asgi import sockets_of_browsers
from sessions_app.models import Session
from tests.accounts.operators import ASKED, browser_of, superuser
from tests.sessions_app.sockets import open_for_looks

ORIGIN = "http://testserver"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_sockets, "CHECK_SECONDS", 0.1)
    monkeypatch.setattr(browser_sockets, "ACTING_CHECK_SECONDS", 0.1)


@pytest.fixture
async def user(make_user: Callable[..., User]) -> User:
    return await run_db(make_user)


@pytest.fixture
async def browser(user: User) -> Client:
    return await run_db(browser_of, user)


@pytest.fixture
async def operator() -> User:
    return await run_db(superuser)


@pytest.fixture
async def acting(operator: User, user: User) -> Client:
    """The operator's browser, in which they act as the user."""
    return await run_db(_acting, operator, user)


def _acting(operator: User, user: User) -> Client:
    browser = browser_of(operator)
    browser.post(f"/admin/accounts/user/{user.pk}/sign-in-as/", {**ASKED, "reason": "ticket 42"})
    return browser


@asynccontextmanager
async def listening(browser: Client, user: User) -> AsyncIterator[WebsocketCommunicator]:
    """A socket of the browser's at a session of the user's, open for several looks."""
    session = await Session.objects.acreate(handle=f"s-{uuid.uuid4().hex}", owner=user)
    cookie = f"sessionid={browser.cookies['sessionid'].value}"
    headers = [(b"cookie", cookie.encode()), (b"origin", ORIGIN.encode()), (b"host", b"testserver")]
    socket = WebsocketCommunicator(sockets_of_browsers, f"/ws/sessions/{session.handle}", headers=headers)
    async with open_for_looks(socket):
        yield socket


async def ends(socket: WebsocketCommunicator) -> bool:
    return bool((await socket.receive_output(timeout=10))["type"] == "websocket.close")


async def test_a_socket_ends_when_its_browser_signs_out(browser: Client, user: User) -> None:
    async with listening(browser, user) as socket:
        await run_db(browser.post, "/accounts/logout/")
        assert await ends(socket)


async def test_that_another_browser_signs_out_changes_nothing(browser: Client, user: User) -> None:
    other = await run_db(browser_of, user)
    async with listening(browser, user) as socket:
        await run_db(other.post, "/accounts/logout/")
        assert await socket.receive_nothing(timeout=0.4)


async def test_a_socket_in_somebody_elses_name_ends_on_the_way_back(acting: Client, user: User) -> None:
    async with listening(acting, user) as socket:
        await run_db(acting.post, "/acting/end")
        assert await ends(socket)


async def test_it_ends_when_the_operator_signs_out(acting: Client, user: User) -> None:
    async with listening(acting, user) as socket:
        await run_db(acting.post, "/accounts/logout/")
        assert await ends(socket)


@pytest.mark.parametrize("change", [{"is_superuser": False}, {"is_active": False}])
async def test_it_ends_when_the_operator_may_no_more(
    acting: Client, user: User, operator: User, change: dict[str, bool]
) -> None:
    async with listening(acting, user) as socket:
        await User.objects.filter(pk=operator.pk).aupdate(**change)
        assert await ends(socket)


async def test_nobody_streams_what_would_not_end_in_somebody_elses_name(acting: Client, user: User) -> None:
    session = await Session.objects.acreate(handle=f"s-{uuid.uuid4().hex}", owner=user)
    answer = await run_db(acting.get, f"/api/sessions/{session.handle}/events")
    assert answer.status_code == 404
