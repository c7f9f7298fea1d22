"""Asking in other words in the browser: edit a question, find the new answer, and the way between both."""

import re

from playwright.async_api import Page, Route, expect

from common.db import run_db
from tests.sessions_app.people import Person
from tests.sites import Site

SWITCHER = "nav.branches"


async def opened(page: Page, site: Site, me: Person, *texts: str) -> str:
    """A conversation in which these were asked, on the page; returns its handle."""
    session = await run_db(me.new_session)
    for text in texts:
        await run_db(me.post, session, text)
        await run_db(me.settled, session)
    await page.goto(f"{site.url}/sessions/{session}")
    await expect(page.locator("fixie-turn .prose")).to_have_count(len(texts))
    return session


async def edit(page: Page, number: int, text: str) -> None:
    """Asks question `number` (from 0) in other words, and waits for the branch."""
    before = page.url
    turn = page.locator("fixie-turn").nth(number)
    await turn.hover()
    await turn.get_by_role("button", name="Edit", exact=True).click()
    box = page.get_by_role("textbox").last
    await expect(box).to_be_focused()
    await box.fill(text)
    await page.keyboard.press("Enter")
    await page.wait_for_url(lambda url: url != before)
    await expect(page.locator("fixie-turn .prose").last).to_have_text(text)


async def questions(page: Page) -> list[str]:
    return await page.locator("fixie-turn .query p").all_text_contents()


async def test_an_edited_question_is_a_branch_and_both_are_reached(at_home: Page, site: Site, me: Person) -> None:
    page = at_home
    session = await opened(page, site, me, "one", "two", "three")

    await edit(page, 1, "zwei")

    assert await questions(page) == ["one", "zwei"]
    await expect(page.locator(SWITCHER)).to_contain_text("2/2")
    await page.get_by_role("link", name="The version before").click()
    await page.wait_for_url(re.compile(f"/sessions/{session}"))
    await expect(page.locator("fixie-turn .prose")).to_have_count(3)
    assert await questions(page) == ["one", "two", "three"]
    await expect(page.locator(SWITCHER)).to_contain_text("1/2")
    await page.get_by_role("link", name="The next version").click()
    await expect(page.locator("fixie-turn .prose").last).to_have_text("zwei")


async def test_an_edit_of_an_edit_is_the_third_version(at_home: Page, site: Site, me: Person) -> None:
    page = at_home
    await opened(page, site, me, "one")
    await edit(page, 0, "eins")
    await edit(page, 0, "un")
    await expect(page.locator(SWITCHER)).to_contain_text("3/3")
    await page.get_by_role("link", name="The version before").click()
    await expect(page.locator(SWITCHER)).to_contain_text("2/3")
    assert await questions(page) == ["eins"]


async def test_the_title_bar_says_where_a_branch_comes_from(at_home: Page, site: Site, me: Person) -> None:
    page = at_home
    session = await opened(page, site, me, "one", "two")
    await expect(page.locator(".branched-from")).to_have_count(0)
    await edit(page, 1, "zwei")
    await page.locator(".branched-from").click()
    await page.wait_for_url(re.compile(f"/sessions/{session}#m-3"))


async def test_what_cannot_be_asked_stays_written(at_home: Page, site: Site, me: Person) -> None:
    page = at_home
    session = await opened(page, site, me, "one")
    turn = page.locator("fixie-turn").first
    await turn.hover()
    await turn.get_by_role("button", name="Edit", exact=True).click()
    box = page.get_by_role("textbox").last
    await box.fill("@nobody/nothing hello")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("alert")).to_contain_text("no such agent")
    await expect(box).to_have_value("@nobody/nothing hello")
    assert page.url.endswith(f"/sessions/{session}")
    assert len((await run_db(me.http.get, "/api/sessions")).json()["items"]) == 1


async def test_a_branch_whose_answer_was_lost_is_asked_once(at_home: Page, site: Site, me: Person) -> None:
    page = at_home
    await opened(page, site, me, "one")

    async def lose(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/branches", lose, times=1)
    turn = page.locator("fixie-turn").first
    await turn.hover()
    await turn.get_by_role("button", name="Edit", exact=True).click()
    await page.get_by_role("textbox").last.fill("eins")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("could not be reached")
    await page.keyboard.press("Enter")
    await expect(page.locator(SWITCHER)).to_contain_text("2/2")
    assert len((await run_db(me.http.get, "/api/sessions")).json()["items"]) == 2
