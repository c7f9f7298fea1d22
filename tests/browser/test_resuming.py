"""Answers outlive what happens to the page: reloads, lost networks, other tabs, stops, and sessions that vanish."""

import itertools
import threading

from playwright.async_api import BrowserContext, Page, expect

from tests.browser.test_chat import AgentOf, ask, numbers, open_session
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import endless, lines
from tests.sites import Site

WORDS = [f"w{number} " for number in range(160)]
GROWING = list(itertools.accumulate(WORDS))
TEXT = "".join(WORDS).strip()


async def test_reloads_and_lost_networks_in_mid_answer_lose_and_double_nothing(
    context: BrowserContext, at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    handle = await open_session(at_home, site, me, agent_of(me, lines(*GROWING, delay=0.015)))
    await ask(at_home, "Go")
    for number in range(3):
        await expect(at_home.locator(".prose")).to_contain_text(f"w{10 + number * 15} ")
        if number == 1:
            await context.set_offline(True)
            await at_home.evaluate("document.querySelector('fixie-chat').socket.stop()")
            await context.set_offline(False)
        await at_home.reload()
    await expect(at_home.locator(".state.in_progress")).to_have_count(0, timeout=20_000)
    await expect(at_home.locator(".prose")).to_have_text(TEXT)
    assert me.settled(handle)[-1]["text"].strip() == TEXT


async def test_a_second_tab_joins_in_mid_answer_and_both_end_alike(
    context: BrowserContext, at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    handle = await open_session(at_home, site, me, agent_of(me, lines(*GROWING, delay=0.01)))
    await ask(at_home, "Go")
    await expect(at_home.locator(".prose")).to_contain_text("w10 ")
    other = await context.new_page()
    await other.goto(f"{site.url}/sessions/{handle}")
    for tab in (at_home, other):
        await expect(tab.locator(".prose")).to_have_text(TEXT, timeout=20_000)
        await expect(tab.locator("fixie-turn")).to_have_count(1)


async def test_what_was_stopped_in_one_tab_is_kept_and_marked_in_all(
    context: BrowserContext, at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    handle = await open_session(at_home, site, me, agent_of(me, endless(numbers(), threading.Event())))
    await ask(at_home, "Count")
    await expect(at_home.locator(".prose")).to_contain_text("0, 1, 2")
    other = await context.new_page()
    await other.goto(f"{site.url}/sessions/{handle}")
    await other.get_by_role("button", name="Stop").click()
    for tab in (at_home, other):
        await expect(tab.locator(".state.canceled")).to_have_text("Stopped")
        await expect(tab.locator(".announcer")).to_contain_text("Stopped.")
    stored = me.settled(handle)[-1]
    assert stored["kind"] == "response"
    (run,) = me.http.get(f"/api/sessions/{handle}/messages").json()["runs"]
    assert run["status"] == "canceled"
    await at_home.reload()
    assert " ".join((await at_home.locator(".prose").inner_text()).split()) == stored["text"].strip()
    await expect(at_home.locator(".state.canceled")).to_have_text("Stopped")


async def test_a_session_that_another_tab_deletes_leads_to_a_new_one(at_home: Page, site: Site, me: Person) -> None:
    handle = await open_session(at_home, site, me)
    await at_home.get_by_label("Message").fill("not lost")
    assert me.http.delete(f"/api/sessions/{handle}").status_code == 204
    await at_home.evaluate("dispatchEvent(new Event('online'))")
    problem = at_home.get_by_role("alert").filter(has_text="This conversation no longer exists.")
    await expect(problem.get_by_role("link", name="New conversation")).to_have_attribute("href", "/")
    await expect(at_home.get_by_label("Message")).to_have_value("not lost")


async def test_a_question_that_waits_can_be_taken_back_for_good(
    at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    await open_session(at_home, site, me, agent_of(me, endless(numbers(), threading.Event())))
    await ask(at_home, "one")
    await expect(at_home.locator(".prose")).to_contain_text("0, 1")
    await ask(at_home, "two")
    await at_home.get_by_role("button", name="Withdraw").click()
    await expect(at_home.get_by_text("Withdrawn", exact=True)).to_be_visible()
    await at_home.reload()
    await expect(at_home.get_by_text("Withdrawn", exact=True)).to_be_visible()
    await at_home.get_by_role("button", name="Stop").click()
    await expect(at_home.get_by_text("Stopped", exact=True)).to_be_visible()
