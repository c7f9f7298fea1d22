"""The first visit, and the start page: one question, whom to ask, files, and what happens where that goes wrong."""

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from common.db import run_db
from tests.agents import ScriptedAgent, answer
from tests.browser.conftest import sign_in
from tests.browser.test_embeds import attach, file
from tests.sessions_app.embedded import contents
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import lines
from tests.sites import Site

SHIFT = """() => { globalThis.shift = 0; new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) globalThis.shift += entry.value;
}).observe({type: "layout-shift", buffered: true}); }"""


@pytest.fixture
async def question(me: Person, scripted: ScriptedAgent) -> AsyncIterator[str]:
    """A sample question of a published agent of mine, which sorts before all others; it answers that it is noon."""
    text = f"What time is it in {uuid.uuid4().hex[:8]}?"
    scripted.on("/clock", answer({"type": "standalone", "sample_queries": [text]}), method="GET")
    scripted.on("/clock", lines("It is noon."))
    fields = {"handle": "clock", "name": "  0 Clock", "published": True, "deployment_url": f"{scripted.url}/clock"}
    made = me.http.post("/api/agents", json=fields)
    assert made.status_code == 201, made.text
    yield text
    me.http.delete(f"/api/agents/{me.user.username}/clock")


def sessions_of(person: Person) -> list[Any]:
    return list(person.http.get("/api/sessions").json()["items"])


async def fill_in(page: Page) -> None:
    """The form to sign up, and its button."""
    name = f"new-{uuid.uuid4().hex[:8]}"
    await page.get_by_label("Email").fill(f"{name}@example.com")
    await page.get_by_label("Username").fill(name)
    await page.get_by_label("Password").fill("a long enough secret")
    await page.get_by_role("main").get_by_role("button", name="Sign up").click()


async def test_a_newcomer_has_an_answer_after_two_clicks(page: Page, site: Site, question: str) -> None:
    await page.goto(site.url)
    await page.get_by_role("button", name=question).click()
    await expect(page.get_by_text("Your question is kept")).to_be_visible()
    await fill_in(page)
    await expect(page.locator(".query")).to_contain_text(question)
    await expect(page.locator(".prose")).to_have_text("It is noon.")
    # It is asked once: the start page is empty when they come back.
    await page.goto(site.url)
    await expect(page.get_by_label("Your question")).to_have_value("")
    await expect(page).to_have_url(f"{site.url}/")


async def test_a_question_of_ones_own_waits_for_signing_up_too(page: Page, site: Site, echo: str) -> None:
    await page.goto(site.url)
    await page.get_by_label("Your question").fill("@fixie/echo Is anybody <b>there</b>?")
    await page.keyboard.press("Enter")
    await fill_in(page)
    await expect(page.locator(".query")).to_contain_text("Is anybody <b>there</b>?")
    await expect(page.locator(".prose")).to_have_text("Is anybody there?")


async def test_the_first_question_goes_with_its_files_to_the_agent_that_was_picked(
    at_home: Page, site: Site, me: Person, echo: str
) -> None:
    await at_home.goto(site.url)
    await expect(at_home.get_by_label("Your question")).to_be_focused()
    await attach(at_home, file("notes.txt", b"my notes", "text/plain"))
    await at_home.get_by_label("Your question").fill("Look at #1")
    await at_home.get_by_label("Agent", exact=True).select_option(echo)
    await expect(at_home.locator(".chip progress")).to_have_count(0)
    await at_home.get_by_role("button", name="Send").click()
    await expect(at_home.locator(".prose")).to_contain_text("Look at #1")
    (session,) = sessions_of(me)
    assert session["agent"] == echo
    assert contents(me.settled(session["handle"])[0]["embeds"]) == {"1": "my notes"}
    await at_home.goto(site.url)
    await expect(at_home.get_by_label("Your question")).to_have_value("")
    await expect(at_home.locator(".chip")).to_have_count(0)


async def test_one_click_asks_a_sample_question_and_says_whom(
    at_home: Page, site: Site, me: Person, question: str
) -> None:
    await at_home.goto(site.url)
    card = at_home.get_by_role("button", name=question)
    await expect(card).to_contain_text(f"{me.user.username}/clock")
    await card.click()
    await expect(at_home.locator(".prose")).to_have_text("It is noon.")


async def test_a_refused_question_stays_written_and_leaves_no_session(
    context: BrowserContext, page: Page, site: Site, person: Callable[..., Person], question: str
) -> None:
    limited = await run_db(person, daily_query_limit=0)
    await sign_in(context, site, limited)
    await page.goto(site.url)
    await page.get_by_role("button", name=question).click()
    await expect(page.get_by_role("alert").first).to_contain_text("queries are used up")
    await page.get_by_label("Your question").fill("third")
    await page.keyboard.press("Enter")
    await expect(page.locator("#composer-quota")).to_contain_text("Today's questions are used up")
    await expect(page.get_by_label("Your question")).to_have_value("third")
    await page.reload()
    await expect(page.get_by_label("Your question")).to_have_value("third")
    assert sessions_of(limited) == []


async def test_an_agent_that_is_gone_is_said_and_the_text_stays(at_home: Page, site: Site, me: Person) -> None:
    await at_home.goto(site.url)
    await at_home.get_by_label("Your question").fill("@nobody/nothing Hello")
    await at_home.keyboard.press("Control+Enter")
    await expect(at_home.get_by_role("alert")).to_contain_text("There is no agent nobody/nothing")
    await expect(at_home.get_by_label("Your question")).to_have_value("@nobody/nothing Hello")
    await at_home.goto(f"{site.url}/?agent=nobody/nothing&text=Hello")
    await expect(at_home.get_by_role("alert")).to_contain_text("There is no such agent")
    assert sessions_of(me) == []


async def test_a_question_sent_again_after_the_network_broke_begins_one_session(
    at_home: Page, site: Site, me: Person, echo: str
) -> None:
    await at_home.goto(f"{site.url}/?agent={echo}&text=Hello")
    await expect(at_home.get_by_label("Your question")).to_have_value("Hello")
    await expect(at_home.get_by_label("Agent", exact=True)).to_have_value(echo)
    assert sessions_of(me) == []  # a link alone asks nothing
    ids: list[str] = []

    async def lose(route: Any) -> None:
        ids.append(route.request.post_data_json["client_id"])
        await route.fetch()
        await route.abort()

    await at_home.route("**/api/sessions/begin", lose, times=1)
    at_home.on("request", lambda request: ids.append(request.url) if "begin" in request.url else None)
    await at_home.keyboard.press("Enter")
    await expect(at_home.get_by_role("alert")).to_contain_text("could not be reached")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".prose")).to_have_text("Hello")
    assert len(sessions_of(me)) == 1


async def test_signing_out_leaves_nothing_of_what_was_being_written(at_home: Page, site: Site, me: Person) -> None:
    await at_home.goto(site.url)
    await at_home.get_by_label("Your question").fill("private thoughts")
    stored = "JSON.stringify(localStorage) + JSON.stringify(sessionStorage)"
    assert "private" in await at_home.evaluate(stored)
    await at_home.get_by_label(f"Account of {me.user.username}").click()
    await at_home.get_by_role("button", name="Sign out").click()
    await expect(at_home.get_by_role("link", name="Sign in").first).to_be_visible()
    assert "private" not in await at_home.evaluate(stored)


async def test_the_page_works_without_javascript(browser: Browser, site: Site, me: Person, echo: str) -> None:
    context = await browser.new_context(java_script_enabled=False)
    await sign_in(context, site, me)
    page = await context.new_page()
    await page.goto(site.url)
    await page.get_by_label("Your question").fill("Hello")
    await page.get_by_label("Agent", exact=True).select_option(echo)
    await page.get_by_role("button", name="Send").click()
    await page.wait_for_url("**/sessions/*")
    assert [message["text"] for message in me.settled(page.url.rpartition("/")[2])] == ["Hello", "Hello"]
    await context.close()


@pytest.mark.parametrize("width", [360, 768, 1440])
async def test_nothing_jumps_when_the_composer_takes_over_from_the_form(
    at_home: Page, site: Site, me: Person, question: str, width: int
) -> None:
    await at_home.set_viewport_size({"width": width, "height": 800})
    await at_home.route("**/fixie-start*.js", lambda route: None)  # it is still on its way
    await at_home.goto(site.url, wait_until="commit")
    await expect(at_home.locator(".starters li").last).to_be_visible()
    before = await at_home.locator(".starters").bounding_box()
    await at_home.unroute("**/fixie-start*.js")
    await at_home.goto(site.url)
    await at_home.evaluate(SHIFT)
    await expect(at_home.get_by_role("button", name="Attach files")).to_be_visible()
    assert await at_home.locator(".starters").bounding_box() == before
    assert await at_home.evaluate("shift") < 0.01
    assert await at_home.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
