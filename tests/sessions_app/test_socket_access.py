"""Who may open the WebSocket of a session, and what becomes of it when they may no longer."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from accounts.models import ApiKey, User
from accounts.sign_in_as import IN_SESSION
from common.db import run_db
from sessions_app.models import Session
from tests.accounts.operators import ASKED, browser_of, superuser
from tests.sessions_app.people import Person
from tests.sessions_app.sockets import Socket, socket_to, works
from tests.sites import Site

FIRST_WORDS = {"type": "synced", "seq": 0}


@pytest.fixture
def stranger(person: Callable[..., Person]) -> Person:
    return person()


@pytest.mark.parametrize("handle", ["no-such-session", "x" * 300, "___", "-"])
async def test_a_session_that_is_none_closes_the_socket_as_missing(site: Site, asker: Person, handle: str) -> None:
    async with socket_to(site, handle, asker.key) as socket:
        error = await socket.frame()
        assert (error["type"], error["code"]) == ("error", "not_found")
        assert await socket.close_code() == 4404


async def test_somebody_elses_session_is_told_apart_from_a_missing_one_by_nothing(
    site: Site, stranger: Person, session: str
) -> None:
    said = []
    for handle in (session, "no-such-session"):
        async with socket_to(site, handle, stranger.key) as socket:
            said.append((await socket.frame(), await socket.close_code()))
    assert said[0] == said[1]
    assert said[0][1] == 4404


@pytest.mark.parametrize(
    "path", ["/ws/sessions/", "/ws/sessions/a/b", "/ws/nothing", "/", "/ws/sessions/%00", "/ws/sessions/%C3%A9"]
)
async def test_an_address_that_leads_nowhere_opens_no_socket(site: Site, asker: Person, path: str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with socket_to(site, f"../..{path}", asker.key):
            pass
    assert refused.value.response.status_code in (403, 404)


def revoke(user: User) -> None:
    ApiKey.objects.filter(user=user).update(revoked=timezone.now())


def deactivate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


@pytest.mark.parametrize("undo", [revoke, deactivate])
async def test_who_is_nobody_any_more_opens_no_socket(
    site: Site, asker: Person, session: str, undo: Callable[[User], None]
) -> None:
    await run_db(undo, asker.user)
    async with socket_to(site, session, asker.key) as socket:
        assert (await socket.frame())["code"] == "unauthenticated"
        assert await socket.close_code() == 4401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": "Basic Zm9vOmJhcg=="},
        {"Cookie": "sessionid=nonsense"},
        {"Cookie": "sessionid="},
    ],
)
async def test_who_is_nobody_opens_no_socket(site: Site, session: str, headers: dict[str, str]) -> None:
    async with socket_to(site, session, headers=headers) as socket:
        assert (await socket.frame())["code"] == "unauthenticated"
        assert await socket.close_code() == 4401


@pytest.mark.parametrize("undo", [revoke, deactivate])
@pytest.mark.parametrize(
    "frame",
    [{"type": "message", "text": "mine"}, {"type": "sync", "since": 0}, {"type": "cancel", "run": "0" * 32}],
    ids=lambda frame: frame["type"],
)
async def test_a_key_revoked_while_the_socket_is_open_does_nothing_more_with_it(
    socket: Socket, asker: Person, session: str, undo: Callable[[User], None], frame: dict[str, Any]
) -> None:
    assert await works(socket)
    await run_db(undo, asker.user)
    await socket.send(**frame)
    assert (await socket.frame())["code"] == "unauthenticated", frame
    assert await socket.close_code() == 4401
    assert (await run_db(Session.objects.get, handle=session)).last_seq == 2


@pytest.fixture
def cookie(asker: Person) -> dict[str, str]:
    """The header of a browser in which the asker is signed in."""
    browser = Client()
    browser.force_login(asker.user)
    return {"Cookie": f"sessionid={browser.cookies['sessionid'].value}"}


async def test_a_page_of_this_site_opens_a_socket_with_its_cookie(
    site: Site, session: str, cookie: dict[str, str]
) -> None:
    async with socket_to(site, session, headers={**cookie, "Origin": site.url}) as socket:
        await socket.synced()
        assert await works(socket)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "http://127.0.0.1",
        "http://127.0.0.1:1",
        "http://[",
        "//",
        "file://",
        "http://\xe9",
    ],
)
async def test_a_page_of_another_site_opens_no_socket_with_this_sites_cookie(
    site: Site, session: str, cookie: dict[str, str], origin: str
) -> None:
    async with socket_to(site, session, headers={**cookie, "Origin": origin}) as socket:
        assert (await socket.frame())["code"] == "unauthenticated"
        assert await socket.close_code() == 4401


async def test_a_cookie_without_an_origin_opens_no_socket(site: Site, session: str, cookie: dict[str, str]) -> None:
    async with socket_to(site, session, headers=cookie) as socket:
        assert await socket.close_code() == 4401


def acting_as(user: User, *, seconds: float = 3600.0) -> tuple[User, dict[str, str]]:
    """An operator who acts as somebody for so long, and the header of their browser."""
    operator = superuser()
    browser = browser_of(operator)
    browser.post(f"/admin/accounts/user/{user.pk}/sign-in-as/", {**ASKED, "reason": "ticket 42"})
    session = browser.session
    session[IN_SESSION] = {**session[IN_SESSION], "until": time.time() + seconds}
    session.save()
    return operator, {"Cookie": f"sessionid={session.session_key}"}


async def test_a_socket_of_who_acts_as_somebody_ends_with_their_time(site: Site, asker: Person, session: str) -> None:
    _, cookie = await run_db(acting_as, asker.user, seconds=2.0)
    async with socket_to(site, session, headers={**cookie, "Origin": site.url}) as socket:
        assert await works(socket)
        assert await socket.close_code() == 1000


async def test_an_operator_who_may_no_more_says_nothing_in_somebody_elses_socket(
    site: Site, asker: Person, session: str
) -> None:
    operator, cookie = await run_db(acting_as, asker.user)
    async with socket_to(site, session, headers={**cookie, "Origin": site.url}) as socket:
        assert await works(socket)
        await run_db(User.objects.filter(pk=operator.pk).update, is_superuser=False)
        await socket.send(type="message", text="mine")
        assert await socket.close_code() == 1000
    assert (await run_db(Session.objects.get, handle=session)).last_seq == 2


async def test_an_origin_does_not_matter_to_a_key(site: Site, asker: Person, session: str) -> None:
    async with socket_to(site, session, asker.key, headers={"Origin": "http://elsewhere.example"}) as socket:
        assert await socket.frame() == FIRST_WORDS


async def test_a_session_deleted_under_an_open_socket_takes_no_more_messages(
    socket: Socket, asker: Person, session: str
) -> None:
    asker.http.delete(f"/api/sessions/{session}")
    await socket.send(type="message", text="anybody?")
    assert (await socket.frame())["code"] == "not_found"
