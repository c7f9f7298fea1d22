"""Programs and keys in a real browser: from the sign-in form to a key on the command line, and its end."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.accounts.conftest import Program
from tests.agents import ScriptedAgent, answer
from tests.browser.conftest import sign_in
from tests.sessions_app.people import Person
from tests.sites import Site

PASSWORD = "a password of ours"


def program_at(site: Site, listener: ScriptedAgent, **fields: Any) -> Program:
    """A program that waits for its user to come back to a page of its own, like `fixie auth`."""
    listener.on("/", answer(body=b"You can close this window.", content_type="text/plain"), method="GET")
    return Program(site, back=f"http://localhost:{listener.port}", **fields)


def query_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


@pytest.mark.parametrize("pkce", [False, True])
async def test_a_program_is_let_in_and_put_out_again(
    page: Page, site: Site, scripted: ScriptedAgent, make_user: Any, pkce: bool
) -> None:
    user = await asyncio.to_thread(make_user, password=PASSWORD)
    program = program_at(site, scripted, pkce=pkce)

    await page.goto(f"{site.url}{program.address()}")
    await page.get_by_label("Login").fill(user.username)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Let “Fixie command line” in?")).to_be_visible()
    await page.get_by_role("button", name="Allow").click()
    await expect(page.get_by_text("You can close this window.")).to_be_visible()

    assert query_of(page)["state"] == [program.state]
    answered = await asyncio.to_thread(program.exchange, query_of(page)["code"][0])
    key = answered.json()["access_token"]
    async with site.async_client(key) as http:
        assert (await http.get("/api/sessions")).status_code == 200

    await page.goto(f"{site.url}/profile")
    await page.get_by_role("link", name="Revoke “Fixie command line").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(page.get_by_text("Revoked “Fixie command line")).to_be_visible()
    async with site.async_client(key) as http:
        assert (await http.get("/api/sessions")).status_code == 401


async def test_cancelling_sends_the_user_back_with_nothing(at_home: Page, site: Site, scripted: ScriptedAgent) -> None:
    program = program_at(site, scripted)

    await at_home.goto(f"{site.url}{program.address()}")
    await at_home.get_by_role("button", name="Cancel").click()
    await expect(at_home.get_by_text("You can close this window.")).to_be_visible()

    assert query_of(at_home) == {"error": ["access_denied"], "state": [program.state]}


async def test_somebody_else_may_sign_in_before_answering(at_home: Page, site: Site, scripted: ScriptedAgent) -> None:
    program = program_at(site, scripted)

    await at_home.goto(f"{site.url}{program.address()}")
    await at_home.get_by_role("button", name="Sign in as somebody else").click()

    await expect(at_home.get_by_label("Password")).to_be_visible()
    assert query_of(at_home)["next"] == [program.address()]


async def test_the_question_cannot_be_hidden_in_another_page(
    at_home: Page, site: Site, scripted: ScriptedAgent
) -> None:
    address = f"{site.url}{program_at(site, scripted).address()}".replace("&", "&amp;")
    scripted.on("/frame", answer(body=f'<iframe src="{address}">'.encode(), content_type="text/html"), method="GET")

    await at_home.goto(f"{scripted.url}/frame")
    await at_home.wait_for_load_state("networkidle")

    assert await at_home.frames[1].get_by_role("button", name="Allow").count() == 0


async def test_a_key_is_made_copied_and_revoked(context: BrowserContext, at_home: Page, site: Site) -> None:
    await context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.url)
    await at_home.goto(site.url)
    await at_home.get_by_label("Account of").click()
    await at_home.get_by_role("link", name="API keys").click()

    await at_home.get_by_label("Name").fill("My laptop")
    await at_home.get_by_label("Name").press("Enter")
    await at_home.get_by_role("button", name="Copy the key").click()
    await expect(at_home.get_by_text("Copied.")).to_be_visible()

    key = await at_home.evaluate("navigator.clipboard.readText()")
    async with site.async_client(key) as http:
        assert (await http.get("/api/sessions")).status_code == 200
    await at_home.get_by_role("button", name="Copy the command").click()
    command = await at_home.evaluate("navigator.clipboard.readText()")
    assert command == f"FIXIE_API_URL={site.url} FIXIE_API_KEY={key} fixie user"


async def test_a_key_is_made_and_revoked_without_javascript(browser: Browser, site: Site, me: Person) -> None:
    context = await browser.new_context(java_script_enabled=False)
    await sign_in(context, site, me)
    page = await context.new_page()
    await page.goto(f"{site.url}/accounts/keys")

    await page.get_by_label("Name").fill("Plain")
    await page.get_by_role("button", name="Make a key").click()
    await expect(page.locator("#new-key")).to_have_text(re.compile(r"^[\w.-]+$"))
    await expect(page.get_by_role("button", name="Copy the key")).to_be_hidden()
    await page.get_by_role("link", name="Revoke “Plain”").click()
    await page.get_by_role("button", name="Revoke").click()

    await expect(page.get_by_text("Revoked “Plain”.")).to_be_visible()
    await context.close()


async def test_a_question_written_on_an_agents_page_is_asked(at_home: Page, site: Site) -> None:
    await at_home.goto(f"{site.url}/agents/fixie/echo")
    await expect(at_home.get_by_role("heading", name="Echo")).to_be_visible()

    await at_home.get_by_label("Your question").fill("Hello there")
    await at_home.get_by_role("button", name="Start").click()

    await expect(at_home.locator("fixie-chat")).to_contain_text("Hello there")


@pytest.fixture(params=[(360, "light"), (360, "dark"), (1440, "light"), (1440, "dark")], ids=lambda p: f"{p[0]}-{p[1]}")
async def framed(request: Any, browser: Browser, site: Site, me: Person) -> AsyncIterator[Page]:
    """A tab of mine on a small or large screen, light or dark."""
    width, scheme = request.param
    context = await browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    await sign_in(context, site, me)
    yield await context.new_page()
    await context.close()


async def test_no_page_is_wider_than_the_screen(framed: Page, site: Site, me: Person) -> None:
    long_name = "n" * 100
    me.http.post("/api/agents", json={"handle": "h" * 50, "name": "n" * 200, "description": "d" * 500})
    await framed.goto(f"{site.url}/accounts/keys")
    await framed.get_by_label("Name").fill(long_name)
    await framed.get_by_role("button", name="Make a key").click()
    await expect(framed.get_by_role("heading", name="Your new key")).to_be_visible()
    pages = [Program(site).address(), f"/agents/{me.user.username}/{'h' * 50}", "/oauth?state=x", "/authorize"]
    for path in ("", *pages):
        if path:
            await framed.goto(f"{site.url}{path}")
        wide = await framed.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, path
