"""A headless Chromium; a server that plays the site's socket by a script; and people of the real site."""

import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from common.db import run_db
from tests.agents import Behaviour, ScriptedAgent
from tests.browser.stage import Stage
from tests.sessions_app.people import Person
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A page that a test answers itself has no address, and Chromium would keep it from loopback.
    "--disable-features=LocalNetworkAccessChecks",
]


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(viewport={"width": 900, "height": 700})
    context.set_default_timeout(10_000)
    yield context
    await context.close()


@pytest.fixture
async def page(context: BrowserContext) -> Page:
    return await context.new_page()


@pytest.fixture(scope="session")
async def stage() -> AsyncIterator[Stage]:
    """Serves the site's modules and speaks the socket's wire as a test tells it to."""
    async with Stage.running() as stage:
        yield stage


@pytest.fixture(scope="session")
def scripted() -> Iterator[ScriptedAgent]:
    """A server for agents of any behaviour."""
    with ScriptedAgent() as server:
        yield server


@pytest.fixture
def person(
    site: Site, echo: str, make_user: Callable[..., "User"], api_key: Callable[..., str]
) -> Iterator[Callable[..., Person]]:
    """`person(**fields)` → somebody new, with a key and an HTTP client that sends it."""
    with ExitStack() as stack:

        def make(**fields: object) -> Person:
            user = make_user(**fields)
            key = api_key(user)
            return Person(user, key, stack.enter_context(site.client(key)))

        yield make


@pytest.fixture
def me(person: Callable[..., Person]) -> Person:
    return person()


@pytest.fixture
async def at_home(context: BrowserContext, site: Site, me: Person) -> Page:
    """A tab of mine, signed in, with nothing opened yet."""
    await sign_in(context, site, me)
    return await context.new_page()


@pytest.fixture
def agent_of(scripted: ScriptedAgent) -> Callable[[Person, Behaviour], str]:
    """`agent_of(person, behaviour)` → the id of a new agent of theirs that answers queries so."""

    def register(owner: Person, behaviour: Behaviour) -> str:
        handle = f"agent-{uuid.uuid4().hex[:8]}"
        scripted.on(f"/{handle}", behaviour)
        agent = {"handle": handle, "deployment_url": f"{scripted.url}/{handle}"}
        answer = owner.http.post("/api/agents", json=agent)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["agent_id"])

    return register


async def sign_in(context: BrowserContext, site: Site, person: Person) -> None:
    """Gives the browser a session of this person, as the sign-in form would."""
    cookie = await run_db(_session_cookie, person)
    await context.add_cookies([{"name": "sessionid", "value": cookie, "url": site.url}])


def _session_cookie(person: Person) -> str:
    client = Client()
    client.force_login(person.user, backend="django.contrib.auth.backends.ModelBackend")
    return client.cookies["sessionid"].value
