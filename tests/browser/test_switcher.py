"""Going anywhere with the keyboard: the switcher on Ctrl+K, and the sheet of all keys."""

import pytest
from playwright.async_api import Page, expect

from tests.sessions_app.people import Person
from tests.sites import Site


@pytest.fixture
def lemons(me: Person) -> str:
    """A session in which lemons were asked about, among others."""
    session = me.new_session()
    me.new_session(name="Oranges")
    me.post(session, "Tell me <b>all</b> about lemons")
    me.settled(session)
    return session


async def test_ctrl_k_finds_a_session_by_what_was_said_and_goes_there(at_home: Page, site: Site, lemons: str) -> None:
    await at_home.goto(f"{site.url}/accounts/keys", wait_until="networkidle")
    await at_home.keyboard.press("Control+k")
    field = at_home.get_by_role("dialog").get_by_role("combobox")
    await expect(field).to_be_focused()
    await expect(at_home.get_by_role("dialog").get_by_role("option").first).to_contain_text("Tell me")
    await field.fill("lemons al")
    option = at_home.get_by_role("dialog").get_by_role("option", name="about lemons")
    await expect(option.locator("mark")).to_have_text(["al", "lemons"])
    await expect(option).to_contain_text("<b>all</b>")
    await expect(option).to_have_attribute("aria-selected", "true")
    await expect(field).to_have_attribute("aria-activedescendant", "switcher-0")
    await expect(at_home.get_by_role("dialog").get_by_role("status")).to_have_text("1 result")
    await field.press("Enter")
    await at_home.wait_for_url(f"{site.url}/sessions/{lemons}#m-2")


async def test_arrows_move_and_escape_gives_the_focus_back(at_home: Page, site: Site, lemons: str) -> None:
    await at_home.goto(site.url, wait_until="networkidle")
    await at_home.get_by_role("link", name="New chat").focus()
    await at_home.keyboard.press("Control+k")
    options = at_home.get_by_role("dialog").get_by_role("option")
    await expect(options.nth(1)).to_contain_text("Oranges")
    await at_home.keyboard.press("ArrowDown")
    await expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    await at_home.keyboard.press("ArrowUp")
    await at_home.keyboard.press("ArrowUp")
    await expect(options.last).to_have_attribute("aria-selected", "true")
    await at_home.keyboard.press("Escape")
    await expect(at_home.get_by_role("dialog")).to_have_count(0)
    await expect(at_home.get_by_role("link", name="New chat")).to_be_focused()


async def test_places_are_found_by_their_names(at_home: Page, site: Site) -> None:
    await at_home.goto(site.url, wait_until="networkidle")
    await at_home.get_by_role("button", name="Search sessions").click()
    await at_home.get_by_role("dialog").get_by_role("combobox").fill("api")
    await expect(at_home.get_by_role("dialog").get_by_role("option", name="API keys")).to_be_visible()
    await expect(at_home.get_by_text("No session has all of these words.")).to_be_visible()
    await at_home.keyboard.press("Enter")
    await at_home.wait_for_url(f"{site.url}/accounts/keys")


async def test_a_question_mark_shows_all_keys_but_not_in_a_field(at_home: Page, site: Site) -> None:
    await at_home.goto(f"{site.url}/accounts/keys", wait_until="networkidle")
    sheet = at_home.get_by_role("dialog", name="Keyboard shortcuts")
    await at_home.get_by_role("textbox").first.press("?")
    await expect(sheet).to_have_count(0)
    await at_home.evaluate("document.activeElement.blur()")
    await at_home.keyboard.press("?")
    await expect(sheet).to_be_visible()
    await at_home.keyboard.press("Escape")
    await expect(sheet).to_have_count(0)
    await at_home.keyboard.press("Control+Shift+o")
    await at_home.wait_for_url(f"{site.url}/")


async def test_who_is_signed_out_has_no_switcher(page: Page, site: Site) -> None:
    await page.goto(site.url)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("dialog")).to_have_count(0)
