"""Sharing in the browser: the menu of a conversation, its link, what a stranger reads, and files to save."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from common.db import run_db
from sessions_app.models import Session, SharedLink
from tests.browser.conftest import sign_in
from tests.browser.scenes import store_tree
from tests.sessions_app.people import Person
from tests.sessions_app.rows import fill
from tests.sites import Site

MENU = "fixie-conversation-menu > button"


@pytest.fixture
async def stranger(browser: Browser) -> AsyncIterator[Page]:
    """A tab of somebody who is not signed in, on a narrow screen."""
    context = await browser.new_context(viewport={"width": 360, "height": 700})
    context.set_default_timeout(10_000)
    yield await context.new_page()
    await context.close()


@pytest.fixture
async def conversation(at_home: Page, site: Site, me: Person) -> tuple[Page, str]:
    """My tab with a conversation in which agents asked agents, and its handle."""
    session = await run_db(me.new_session)
    await run_db(store_tree, session)
    await at_home.goto(f"{site.url}/sessions/{session}")
    await expect(at_home.locator(".prose")).to_have_text("A four.")
    return at_home, session


async def shared(page: Page) -> str:
    """Shares the conversation on the page with the keyboard alone; returns the link."""
    await page.locator(MENU).focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("menuitem", name="Share")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("Link")
    await expect(link).to_be_focused()
    return await link.input_value()


async def test_a_stranger_reads_what_is_shared_until_it_is_revoked(
    conversation: tuple[Page, str], stranger: Page
) -> None:
    page, session = conversation
    problems: list[str] = []
    stranger.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    link = await shared(page)
    await stranger.goto(link)
    await expect(stranger.locator(".query")).to_contain_text("roll")
    await expect(stranger.locator(".prose")).to_have_text("A four.")
    await stranger.locator("fixie-steps summary").first.click()
    await expect(stranger.locator(".step-list").first).to_be_visible()
    for action in ("Edit", "Ask again", "Ask someone else", "Retry"):
        await expect(stranger.get_by_role("button", name=action)).to_have_count(0)
    assert session not in await stranger.content()
    assert await stranger.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert problems == []

    await page.get_by_role("button", name="Stop sharing").click()
    await expect(page.get_by_role("button", name="Make a link")).to_be_visible()
    answer = await stranger.reload()
    assert answer is not None
    assert answer.status == 404
    await expect(stranger.get_by_role("heading")).to_have_text("This link no longer works")


async def test_the_dialog_gives_the_focus_back_and_knows_the_link_again(conversation: tuple[Page, str]) -> None:
    page, _ = conversation
    link = await shared(page)
    await page.keyboard.press("Escape")
    await expect(page.locator("dialog.share")).to_have_count(0)
    await expect(page.locator(MENU)).to_be_focused()
    await page.locator(MENU).click()
    await page.get_by_role("menuitem", name="Share").click()
    await expect(page.get_by_label("Link")).to_have_value(link)


async def test_the_menu_is_used_with_the_keyboard_alone(conversation: tuple[Page, str]) -> None:
    page, _ = conversation
    button = page.locator(MENU)
    await button.focus()
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_role("menuitem").last).to_be_focused()
    await page.keyboard.press("ArrowDown")
    await expect(page.get_by_role("menuitem").first).to_be_focused()
    await page.keyboard.press("c")
    await expect(page.get_by_role("menuitem", name="Copy")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(button).to_be_focused()
    await expect(button).to_have_attribute("aria-expanded", "false")
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("menu", name="Share or export")).to_have_count(0)


async def test_what_was_asked_since_is_shared_by_an_update(
    conversation: tuple[Page, str], stranger: Page, me: Person
) -> None:
    page, session = conversation
    link = await shared(page)
    await page.keyboard.press("Escape")
    await run_db(me.post, session, "And this?")
    await run_db(me.settled, session)
    await page.locator(MENU).click()
    await page.get_by_role("menuitem", name="Share").click()
    await page.get_by_role("button", name="Update to the latest messages").click()
    await expect(page.get_by_label("Link")).to_be_focused()
    await expect(page.get_by_role("button", name="Update")).to_have_count(0)
    await stranger.goto(link)
    await expect(stranger.locator(".query").last).to_contain_text("And this?")


async def test_a_long_conversation_is_read_on(stranger: Page, site: Site, me: Person) -> None:
    session = await run_db(me.new_session)
    await run_db(fill, session, 250)
    link = (await run_db(me.http.post, f"/api/sessions/{session}/share")).json()["url"]
    await stranger.goto(link)
    await stranger.get_by_role("button", name="Show more messages").click()
    await expect(stranger.get_by_role("button", name="Show more messages")).to_have_count(0)


async def test_who_is_signed_in_goes_on_in_a_copy(
    conversation: tuple[Page, str], browser: Browser, site: Site, person: Callable[..., Person]
) -> None:
    page, _ = conversation
    link = await shared(page)
    reader: BrowserContext = await browser.new_context()
    await sign_in(reader, site, await run_db(person))
    other = await reader.new_page()
    await other.goto(link)
    await other.get_by_role("button", name="Continue this conversation").click()
    await expect(other.locator("fixie-chat .prose")).to_have_text("A four.")
    await other.get_by_role("textbox").last.fill("And mine?")
    await other.keyboard.press("Enter")
    await expect(other.locator("fixie-chat .prose").last).to_have_text("And mine?")
    await expect(page.locator("fixie-chat .query")).to_have_count(1)
    await reader.close()


async def test_files_are_saved_under_the_title(conversation: tuple[Page, str], tmp_path: Path) -> None:
    page, session = conversation
    await run_db(lambda: Session.objects.filter(handle=session).update(name="Dice night"))
    for kind, begins in (("Markdown", "# Dice night"), ("JSON", '{"format":"fixie-session"')):
        await page.locator(MENU).click()
        async with page.expect_download() as downloading:
            await page.get_by_role("menuitem", name=f"Export as {kind}").click()
        download = await downloading.value
        assert download.suggested_filename == f"Dice night.{'md' if kind == 'Markdown' else 'json'}"
        await download.save_as(tmp_path / "file")
        assert (tmp_path / "file").read_text().startswith(begins)
        await expect(page.locator(MENU)).to_be_focused()


async def test_the_whole_conversation_is_copied_as_text(conversation: tuple[Page, str], site: Site) -> None:
    page, _ = conversation
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site.url)
    await page.locator(MENU).click()
    await page.get_by_role("menuitem", name="Copy as Markdown").click()
    await expect(page.get_by_text("The conversation is on the clipboard.")).to_be_visible()
    assert "A four." in await page.evaluate("navigator.clipboard.readText()")


async def test_sharing_stops_on_the_page_of_my_links(conversation: tuple[Page, str], site: Site) -> None:
    page, session = conversation
    await shared(page)
    await page.goto(f"{site.url}/account/links")
    await page.get_by_role("button", name="Stop sharing").click()
    await expect(page.get_by_text("The link no longer works.")).to_be_visible()
    await expect(page.get_by_text("You share no conversation.")).to_be_visible()
    assert not await run_db(SharedLink.objects.filter(session__handle=session, revoked=None).exists)
