"""The list of sessions beside the chat: what is done in it, by pointer and keys, here and in other tabs."""

import pytest
from playwright.async_api import BrowserContext, Locator, Page, expect

from common.db import run_db
from sessions_app.models import Session
from sessions_app.sidebar.listing import PAGE
from tests.browser.conftest import sign_in
from tests.sessions_app.people import Person
from tests.sites import Site


@pytest.fixture
def sessions(me: Person) -> list[str]:
    """Three sessions, the last asked last."""
    return [me.new_session(name=name) for name in ("Apples", "Bananas", "Cherries")]


def entry(page: Page, name: str) -> Locator:
    return page.locator(".session-list li").filter(has=page.get_by_role("link", name=name, exact=True))


def names(page: Page) -> Locator:
    return page.locator(".session-list li > a")


async def choose(page: Page, name: str, what: str) -> None:
    await entry(page, name).hover()
    await entry(page, name).get_by_role("button").click()
    await page.get_by_role("menuitem", name=what).click()


async def test_sessions_stand_under_their_day_and_the_current_one_is_marked(
    at_home: Page, site: Site, sessions: list[str]
) -> None:
    requests: list[str] = []
    at_home.on("request", lambda request: requests.append(request.url))
    await at_home.goto(f"{site.url}/sessions/{sessions[1]}")
    await expect(at_home.locator(".session-list h2")).to_have_text("Today")
    await expect(names(at_home)).to_have_text(["Cherries", "Bananas", "Apples"])
    await expect(at_home.locator('.session-list [aria-current="page"]')).to_have_text("Bananas")
    assert not [url for url in requests if "/api/" in url]


async def test_a_session_is_renamed_in_its_place_and_its_page_agrees(
    at_home: Page, site: Site, sessions: list[str]
) -> None:
    await at_home.goto(f"{site.url}/sessions/{sessions[0]}")
    await names(at_home).last.focus()
    await at_home.keyboard.press("F2")
    await expect(at_home.get_by_label("New name")).to_be_focused()
    await at_home.keyboard.type("Pears")
    await at_home.keyboard.press("Enter")
    await expect(at_home.get_by_role("heading", level=1)).to_have_text("Pears")
    await expect(names(at_home).last).to_have_text("Pears")
    await expect(names(at_home).last).to_be_focused()
    assert (await at_home.title()).startswith("Pears ")
    await at_home.get_by_role("button", name="Rename").click()
    await at_home.keyboard.type("Plums")
    await at_home.keyboard.press("Escape")
    await expect(at_home.get_by_role("heading", level=1)).to_have_text("Pears")


async def test_a_pinned_session_stands_apart(at_home: Page, site: Site, sessions: list[str]) -> None:
    await at_home.goto(site.url)
    await choose(at_home, "Apples", "Pin")
    await expect(at_home.locator(".session-list h2")).to_have_text(["Pinned", "Today"])
    await expect(names(at_home)).to_have_text(["Apples", "Cherries", "Bananas"])
    await expect(names(at_home).first).to_be_focused()


async def test_an_archived_session_is_found_in_the_archive_and_taken_out(
    at_home: Page, site: Site, sessions: list[str]
) -> None:
    await at_home.goto(site.url)
    await choose(at_home, "Bananas", "Archive")
    await expect(names(at_home)).to_have_text(["Cherries", "Apples"])
    await expect(names(at_home).last).to_be_focused()
    await at_home.get_by_role("link", name="Archived").click()
    await expect(names(at_home)).to_have_text(["Bananas"])
    await expect(at_home.get_by_role("heading", name="Archived sessions")).to_be_visible()
    await choose(at_home, "Bananas", "Take out of the archive")
    await expect(at_home.get_by_text("Nothing is archived.")).to_be_visible()
    await at_home.get_by_role("button", name="All sessions").click()
    await expect(names(at_home)).to_have_text(["Cherries", "Bananas", "Apples"])
    await expect(at_home.get_by_role("heading", name="Archived sessions")).to_have_count(0)


async def test_a_deleted_session_comes_back_where_it_is_undone(at_home: Page, site: Site, sessions: list[str]) -> None:
    await at_home.goto(site.url)
    await names(at_home).nth(1).focus()
    await at_home.keyboard.press("Delete")
    await expect(names(at_home)).to_have_text(["Cherries", "Apples"])
    await expect(names(at_home).last).to_be_focused()
    await expect(at_home.get_by_role("status").get_by_text("Deleted “Bananas”.")).to_be_visible()
    await at_home.get_by_role("button", name="Undo").click()
    await expect(names(at_home)).to_have_text(["Cherries", "Bananas", "Apples"])
    await expect(names(at_home).nth(1)).to_be_focused()
    await names(at_home).nth(1).press("Delete")
    await expect(names(at_home)).to_have_count(2)
    await at_home.keyboard.press("Control+z")
    await expect(names(at_home)).to_have_count(3)


async def test_the_page_of_a_deleted_session_leads_home_and_back(
    at_home: Page, site: Site, sessions: list[str]
) -> None:
    await at_home.goto(f"{site.url}/sessions/{sessions[2]}")
    await choose(at_home, "Cherries", "Delete")
    await at_home.wait_for_url(f"{site.url}/")
    await expect(at_home.locator(".notice")).to_contain_text("Deleted “Cherries”.")
    await at_home.get_by_role("button", name="Undo").click()
    await at_home.wait_for_url(f"{site.url}/sessions/{sessions[2]}")


async def test_two_tabs_agree(at_home: Page, site: Site, context: BrowserContext, sessions: list[str]) -> None:
    other = await context.new_page()
    for page in (at_home, other):
        await page.goto(f"{site.url}/sessions/{sessions[0]}")
        await expect(names(page)).to_have_count(3)
    await choose(at_home, "Bananas", "Pin")
    await expect(names(other).first).to_have_text("Bananas")
    await choose(other, "Cherries", "Delete")
    await expect(names(at_home)).to_have_text(["Bananas", "Apples"])


async def test_a_name_given_elsewhere_reaches_the_page(
    at_home: Page, site: Site, me: Person, sessions: list[str]
) -> None:
    await at_home.goto(f"{site.url}/sessions/{sessions[0]}")
    await expect(at_home.get_by_text("Connected")).to_be_visible()
    me.http.patch(f"/api/sessions/{sessions[0]}", json={"name": "Oranges"})
    await expect(at_home.get_by_role("heading", level=1)).to_have_text("Oranges")
    await expect(names(at_home).last).to_have_text("Oranges")


async def test_what_is_asked_moves_its_session_to_the_top(
    at_home: Page, site: Site, me: Person, sessions: list[str]
) -> None:
    unnamed = me.new_session()
    me.new_session(name="Dates")
    await at_home.goto(f"{site.url}/sessions/{unnamed}")
    await expect(at_home.get_by_text("Connected")).to_be_visible()
    await at_home.get_by_label("Message", exact=True).fill("what are figs?")
    await at_home.keyboard.press("Enter")
    await expect(names(at_home).first).to_have_text("What are figs?")
    await expect(at_home.get_by_role("heading", level=1)).to_have_text("What are figs?")


async def test_older_sessions_come_while_scrolling_and_by_a_button(at_home: Page, site: Site, me: Person) -> None:
    rows = [Session(handle=f"{me.user.username}-{number}", owner=me.user) for number in range(PAGE * 3)]
    await run_db(Session.objects.bulk_create, rows)
    await at_home.goto(site.url)
    await expect(names(at_home)).to_have_count(PAGE)
    await at_home.get_by_role("button", name="Show older").press("Enter")
    await expect(names(at_home)).to_have_count(PAGE * 2)
    await at_home.locator(".session-list").evaluate("(list) => list.scrollTo(0, list.scrollHeight)")
    await expect(names(at_home)).to_have_count(PAGE * 3)
    await expect(at_home.get_by_role("button", name="Show older")).to_have_count(0)


async def test_the_menu_is_worked_with_keys_alone(at_home: Page, site: Site, sessions: list[str]) -> None:
    await at_home.goto(site.url)
    await names(at_home).first.focus()
    await at_home.keyboard.press("Tab")
    await at_home.keyboard.press("Enter")
    await expect(at_home.get_by_role("menuitem", name="Rename")).to_be_focused()
    await at_home.keyboard.press("ArrowUp")
    await expect(at_home.get_by_role("menuitem", name="Delete")).to_be_focused()
    await at_home.keyboard.press("Escape")
    await expect(at_home.get_by_role("menu")).to_be_hidden()
    await expect(entry(at_home, "Cherries").get_by_role("button")).to_be_focused()


async def test_the_list_is_folded_and_stays_so_on_the_next_page(at_home: Page, site: Site, sessions: list[str]) -> None:
    await at_home.goto(site.url, wait_until="networkidle")
    await at_home.keyboard.press("Control+b")
    await expect(at_home.locator("#sidebar")).to_be_hidden()
    await at_home.goto(f"{site.url}/sessions/{sessions[0]}")
    await expect(at_home.locator("#sidebar")).to_be_hidden()
    await at_home.get_by_role("button", name="Sessions").click()
    await expect(at_home.locator("#sidebar")).to_be_visible()


async def test_narrow_windows_have_a_drawer(at_home: Page, site: Site, sessions: list[str]) -> None:
    await at_home.set_viewport_size({"width": 360, "height": 640})
    await at_home.goto(site.url)
    await expect(at_home.locator("#sidebar")).to_be_hidden()
    button = at_home.get_by_role("button", name="Sessions")
    await button.press("Enter")
    await expect(names(at_home)).to_have_count(3)
    await expect(names(at_home).first).to_be_visible()
    await at_home.keyboard.press("Escape")
    await expect(at_home.locator("#sidebar")).to_be_hidden()
    await expect(button).to_be_focused()
    assert await at_home.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_without_a_script_the_list_is_links(at_home: Page, site: Site, me: Person, sessions: list[str]) -> None:
    browser = at_home.context.browser
    assert browser is not None
    plain = await browser.new_context(java_script_enabled=False, viewport={"width": 1000, "height": 700})
    await sign_in(plain, site, me)
    page = await plain.new_page()
    await page.goto(site.url)
    await page.get_by_role("link", name="Bananas").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Bananas")
    await page.get_by_role("button", name="Delete this session").click()
    await page.get_by_role("button", name="Undo").click()
    await expect(page).to_have_url(f"{site.url}/sessions/{sessions[1]}")
    await plain.close()


async def test_nothing_moves_when_the_list_comes_up(at_home: Page, site: Site, sessions: list[str]) -> None:
    await at_home.goto(site.url)
    await at_home.add_init_script(
        """globalThis.shift = 0; new PerformanceObserver((list) => {
            for (const { value, sources } of list.getEntries()) {
                if (sources.some(({ node }) => node?.parentElement?.closest?.("#sidebar"))) globalThis.shift += value;
            }
        }).observe({ type: "layout-shift", buffered: true });"""
    )
    await at_home.goto(f"{site.url}/sessions/{sessions[0]}", wait_until="networkidle")
    await expect(at_home.locator("fixie-session-menu")).to_have_count(1)
    assert await at_home.evaluate("globalThis.shift") < 0.005
