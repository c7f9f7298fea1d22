"""A headless Chromium; a server that plays the site's socket by a script; and people of the real site."""

import shutil
from collections.abc import AsyncIterator, Callable

import pytest
from django.test import Client
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from common.db import run_db
from tests.browser.stage import Stage
from tests.sessions_app.people import Person
from tests.sites import Site

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


@pytest.fixture
def me(person: Callable[..., Person]) -> Person:
    return person()


@pytest.fixture
async def at_home(context: BrowserContext, site: Site, me: Person) -> Page:
    """A tab of mine, signed in, with nothing opened yet."""
    await sign_in(context, site, me)
    return await context.new_page()


async def sign_in(context: BrowserContext, site: Site, person: Person) -> None:
    """Gives the browser a session of this person, as the sign-in form would."""
    cookie = await run_db(_session_cookie, person)
    await context.add_cookies([{"name": "sessionid", "value": cookie, "url": site.url}])


def _session_cookie(person: Person) -> str:
    client = Client()
    client.force_login(person.user, backend="django.contrib.auth.backends.ModelBackend")
    return client.cookies["sessionid"].value
