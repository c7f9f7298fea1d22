"""The whole first visit, as somebody makes it: from signing up to signing out."""

import itertools
import threading
import uuid
from collections.abc import AsyncIterator, Callable

import pytest
from playwright.async_api import Browser, Page, expect

from common.db import run_db
from tests.agents import Behaviour
from tests.browser.test_chat import ask
from tests.browser.test_embeds import attach, file, picture
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import endless
from tests.sites import Site


@pytest.fixture
async def counter(person: Callable[..., Person], agent_of: Callable[[Person, Behaviour], str]) -> AsyncIterator[str]:
    """A published agent of somebody else's, which counts until it is stopped."""
    keeper = await run_db(person)
    numbers = (f"{number}, " for number in itertools.count())
    agent = await run_db(agent_of, keeper, endless(numbers, threading.Event()))
    assert keeper.http.patch(f"/api/agents/{agent}", json={"published": True}).status_code == 200
    yield agent
    keeper.http.delete(f"/api/agents/{agent}")


async def test_the_whole_first_visit(page: Page, browser: Browser, site: Site, echo: str, counter: str) -> None:
    word = f"w{uuid.uuid4().hex[:10]}"
    name = await signs_up(page, site)
    await asks_a_first_question(page, echo, f"Is {word} there?")
    first = page.url
    await attaches_a_picture(page)
    await asks_another_agent_and_stops_it(page, counter)
    await edits_and_branches(page, f"Is {word} here?", first)
    await shares(page, browser, f"Is {word} here?")
    await finds(page, word, first)
    await page.get_by_label(f"Account of {name}").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("link", name="Sign in").first).to_be_visible()
    await page.goto(first)
    await expect(page).to_have_url(f"{site.url}/accounts/login/?next={first.removeprefix(site.url)}")


async def signs_up(page: Page, site: Site) -> str:
    name = f"new-{uuid.uuid4().hex[:8]}"
    await page.goto(site.url)
    await page.get_by_role("main").get_by_role("link", name="Sign up").first.click()
    await page.get_by_label("Email").fill(f"{name}@example.com")
    await page.get_by_label("Username").fill(name)
    await page.get_by_label("Password").fill("a long enough secret")
    await page.get_by_role("main").get_by_role("button", name="Sign up").click()
    return name


async def asks_a_first_question(page: Page, agent: str, text: str) -> None:
    await expect(page.locator("fixie-composer")).to_be_visible()
    await page.get_by_label("Agent", exact=True).select_option(agent)
    await page.get_by_label("Your question").fill(text)
    await page.keyboard.press("Enter")
    await expect(page.locator(".prose")).to_have_text(text)


async def attaches_a_picture(page: Page) -> None:
    await attach(page, file("pixel.png", picture(), "image/png"))
    await expect(page.locator(".chip")).to_contain_text("bytes")
    await ask(page, "Look at this")
    await expect(page.locator("fixie-turn").nth(1).locator(".query img")).to_be_visible()
    await expect(page.locator(".prose").nth(1)).to_contain_text("Look at this")


async def asks_another_agent_and_stops_it(page: Page, agent: str) -> None:
    # Without its last letter: one that is there in full needs no choosing.
    await page.get_by_label("Message").press_sequentially(f"@{agent[:-1]}")
    await page.get_by_role("option").filter(has_text=agent).click()
    await page.keyboard.type("Count")
    await page.keyboard.press("Enter")
    counting = page.locator("fixie-turn").nth(2)
    await expect(counting.locator(".prose")).to_contain_text("0, 1, 2")
    await page.keyboard.press("Escape")
    await expect(counting.get_by_text("Stopped", exact=True)).to_be_visible()


async def edits_and_branches(page: Page, text: str, original: str) -> None:
    await page.locator("fixie-turn").first.get_by_role("button", name="Edit").click()
    await expect(page.get_by_text("Editing an earlier question")).to_be_visible()
    await ask(page, text)
    await expect(page.locator(".branches")).to_contain_text("2/2")
    await expect(page.locator(".prose")).to_have_text(text)
    await page.get_by_role("link", name="The version before").click()
    await expect(page.locator("fixie-turn")).to_have_count(3)
    assert page.url.startswith(original)
    await page.get_by_role("link", name="The next version").click()
    await expect(page.locator("fixie-turn")).to_have_count(1)


async def shares(page: Page, browser: Browser, text: str) -> None:
    await page.get_by_role("button", name="Share or export").click()
    await page.get_by_role("menuitem", name="Share…").click()
    await page.get_by_role("button", name="Make a link").click()
    link = await page.get_by_label("Link").input_value()
    elsewhere = await browser.new_context()
    reader = await elsewhere.new_page()
    await reader.goto(link)
    await expect(reader.locator(".prose")).to_have_text(text)
    await expect(reader.get_by_role("textbox")).to_have_count(0)
    await page.get_by_role("button", name="Stop sharing").click()
    await expect(page.get_by_role("button", name="Make a link")).to_be_visible()
    assert (await reader.goto(link)).status == 404
    await expect(reader.get_by_role("heading", level=1)).to_contain_text("no longer works")
    await elsewhere.close()
    await page.keyboard.press("Escape")


async def finds(page: Page, word: str, first: str) -> None:
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Search sessions").fill(word[:-1])
    hits = page.get_by_role("option").filter(has=page.locator("mark"))
    await expect(hits).to_have_count(2)
    await hits.last.click()
    await expect(page.locator("fixie-turn").first).to_be_visible()
