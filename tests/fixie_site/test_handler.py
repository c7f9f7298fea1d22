"""Requests give their database connection back: however they end, and while they wait for somebody else."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import httpx2
import pytest
from django.test import Client

from accounts.models import User
from tests.sites import Site

# More than the pool has (DATABASE_ORM_POOL_SIZE).
MANY = 30
SESSIONS = "/api/sessions"


@pytest.fixture
def user(make_user: Callable[..., User]) -> User:
    return make_user()


@pytest.fixture
def http(site: Site, user: User, api_key: Callable[..., str]) -> Iterator[httpx2.Client]:
    with site.client(api_key(user), verify=False) as http:
        yield http


@pytest.fixture
def browser(site: Site, user: User) -> Iterator[httpx2.Client]:
    """The same user by cookie."""
    signed_in = Client()
    signed_in.force_login(user)
    cookies = {"sessionid": signed_in.cookies["sessionid"].value}
    with site.client(verify=False, cookies=cookies) as http:
        yield http


def test_requests_that_are_answered_hold_no_connection(http: httpx2.Client, browser: httpx2.Client) -> None:
    for client in (http, browser):
        for _ in range(MANY):
            assert client.get(SESSIONS, timeout=5).status_code == 200


def test_requests_whose_client_leaves_hold_no_connection(http: httpx2.Client, browser: httpx2.Client) -> None:
    for client in (http, browser):
        for number in range(MANY):
            try:
                client.get(SESSIONS, timeout=httpx2.Timeout(5, read=0.001 * (number % 10) + 0.0001))
            except httpx2.ReadTimeout:
                continue
        assert client.get(SESSIONS, timeout=5).status_code == 200


@pytest.mark.parametrize("who", ["http", "browser"])
def test_streams_that_stay_open_hold_no_connection(
    request: pytest.FixtureRequest, http: httpx2.Client, who: str, echo: str
) -> None:
    client: httpx2.Client = request.getfixturevalue(who)
    session = http.post(SESSIONS, json={"agent": echo}).json()["handle"]
    with ExitStack() as stack:
        for _ in range(MANY):
            stream = client.stream("GET", f"{SESSIONS}/{session}/events", timeout=5)
            assert stack.enter_context(stream).status_code == 200
        assert http.get(SESSIONS, timeout=5).status_code == 200
