"""Who asked their system for less motion sees none: not in the chat, its list, its dialogs or its news."""

import threading
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import sign_in
from tests.browser.test_chat import AgentOf
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import held
from tests.sites import Site

# What moves now, and what would as soon as something changes.
MOVING = """() => {
    const lasting = (value) => value.split(",").some((each) => parseFloat(each) > 0);
    const elements = [...document.querySelectorAll("*")];
    return [
        ...document.getAnimations().map((one) => one.animationName ?? one.transitionProperty ?? "script"),
        ...elements.filter((one) => lasting(getComputedStyle(one).transitionDuration)).map((one) => one.localName),
        ...elements.filter((one) => getComputedStyle(one).scrollBehavior === "smooth").map((one) => one.localName),
    ];
}"""


@pytest.fixture
async def calm(browser: Browser, site: Site, me: Person) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 1200, "height": 700}, reduced_motion="reduce")
    await sign_in(context, site, me)
    yield await context.new_page()
    await context.close()


async def test_nothing_moves(calm: Page, site: Site, me: Person, agent_of: AgentOf) -> None:
    page, gate = calm, threading.Event()
    other = me.new_session(name="Other")
    handle = me.new_session(agent_of(me, held(gate)))
    me.post(handle, "Go")
    await page.goto(f"{site.url}/sessions/{handle}#m-1")
    await expect(page.locator(".state.in_progress")).to_be_visible()
    await expect(page.locator(".at-work")).to_be_visible()
    assert await page.evaluate(MOVING) == []
    for opening in ("Control+k", "?"):
        await page.locator(".turns").focus()
        await page.keyboard.press(opening)
        await expect(page.locator("dialog[open]")).to_be_visible()
        assert await page.evaluate(MOVING) == []
        await page.keyboard.press("Escape")
        await expect(page.locator("dialog[open]")).to_have_count(0)
    gate.set()
    await expect(page.locator(".state.in_progress")).to_have_count(0)
    await page.locator(f'[data-handle="{other}"]').focus()
    await page.keyboard.press("Delete")
    await expect(page.get_by_text("Deleted “Other”.")).to_be_visible()
    assert await page.evaluate(MOVING) == []


async def test_for_everybody_else_work_in_progress_is_seen_to_be_alive(
    at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    gate = threading.Event()
    handle = me.new_session(agent_of(me, held(gate)))
    me.post(handle, "Go")
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await expect(at_home.locator(".state.in_progress")).to_be_visible()
    assert "pulse" in await at_home.evaluate(MOVING)
    gate.set()
