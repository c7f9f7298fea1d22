"""The main path in a browser, on the whole site: sign up, ask, watch, leave, come back, stop, delete."""

import itertools
import threading
import uuid
from collections.abc import Callable, Iterator

import httpx2
import pytest
from playwright.async_api import BrowserContext, Page, Route, expect

from common.db import run_db
from tests.agents import Behaviour, ScriptedAgent, answer
from tests.browser.conftest import sign_in
from tests.sessions_app.people import Person, wait_until
from tests.sessions_app.streaming import endless, held, lines
from tests.sites import Site

AgentOf = Callable[[Person, Behaviour], str]
WORDS = [f"word{number} " for number in range(40)]
GROWING = [f"{text}.\n\n" for text in itertools.accumulate(WORDS)]


def numbers() -> Iterator[str]:
    """An endless text: `0, 1, 2, …`."""
    return (f"{number}, " for number in itertools.count())


async def open_session(page: Page, site: Site, me: Person, agent: str = "fixie/echo") -> str:
    handle = me.new_session(agent)
    await page.goto(f"{site.url}/sessions/{handle}")
    await expect(page.locator(".connection")).to_have_text("Connected")
    return handle


async def ask(page: Page, text: str) -> None:
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")


async def test_somebody_signs_up_asks_and_signs_out(page: Page, site: Site, echo: str) -> None:
    name = f"new-{uuid.uuid4().hex[:8]}"
    await page.goto(site.url)
    await page.get_by_role("main").get_by_role("link", name="Sign up").click()
    await page.get_by_label("Email").fill(f"{name}@example.com")
    await page.get_by_label("Username").fill(name)
    await page.get_by_label("Password").fill("a long enough secret")
    await page.get_by_role("main").get_by_role("button", name="Sign up").click()
    await page.get_by_label("Your question").fill("Is anybody <b>there</b>?")
    await page.get_by_label("Agent", exact=True).select_option(echo)
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator(".query")).to_contain_text("Is anybody <b>there</b>?")
    await expect(page.locator(".prose")).to_have_text("Is anybody there?")
    await page.get_by_label(f"Account of {name}").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_role("link", name="Sign in").first).to_be_visible()


async def test_text_grows_and_a_reload_in_the_middle_loses_nothing(
    at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    gate = threading.Event()
    await open_session(at_home, site, me, agent_of(me, held(gate)))
    await ask(at_home, "the way")
    await expect(at_home.locator(".prose")).to_have_text("On the way")
    await at_home.reload()
    await expect(at_home.locator(".prose")).to_have_text("On the way")
    await expect(at_home.get_by_text("Working…")).to_be_visible()
    gate.set()
    await expect(at_home.locator(".prose")).to_have_text("On the way: done")
    await expect(at_home.get_by_text("Working…")).to_have_count(0)
    await expect(at_home.locator("fixie-turn")).to_have_count(1)


async def test_a_stopped_answer_is_kept_and_marked(at_home: Page, site: Site, me: Person, agent_of: AgentOf) -> None:
    handle = await open_session(at_home, site, me, agent_of(me, endless(numbers(), threading.Event())))
    await ask(at_home, "Count")
    await expect(at_home.locator(".prose")).to_contain_text("0, 1, 2")
    await at_home.get_by_role("button", name="Stop").click()
    await expect(at_home.get_by_text("Stopped", exact=True)).to_be_visible()
    stored = me.settled(handle)[-1]["text"]
    assert stored.startswith("0, 1, 2")
    for _ in range(2):
        assert " ".join((await at_home.locator(".prose").inner_text()).split()) == stored.strip()
        await at_home.reload()
        await expect(at_home.get_by_text("Stopped", exact=True)).to_be_visible()


async def test_a_question_asked_while_another_is_answered_waits_its_turn(
    at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    gate = threading.Event()
    await open_session(at_home, site, me, agent_of(me, held(gate)))
    await ask(at_home, "one")
    await expect(at_home.locator(".prose")).to_have_text("On one")
    await ask(at_home, "two")
    await expect(at_home.get_by_text("Waiting for its turn…")).to_be_visible()
    gate.set()
    await expect(at_home.locator(".prose")).to_have_text(["On one: done", "On two: done"])


async def test_a_failed_run_says_why_and_a_retry_answers(
    at_home: Page, site: Site, me: Person, scripted: ScriptedAgent, agent_of: AgentOf
) -> None:
    failing = answer({"detail": "broken"}, status=500)
    agent = agent_of(me, failing)
    await open_session(at_home, site, me, agent)
    await ask(at_home, "Hello?")
    await expect(at_home.locator(".failure")).not_to_be_empty()
    scripted.on(f"/{agent.split('/')[1]}", lines("Here I am."))
    await at_home.get_by_role("button", name="Retry").click()
    await expect(at_home.locator(".prose")).to_have_text("Here I am.")
    await expect(at_home.locator(".query")).to_have_text(["You: Hello?"] * 2)


async def test_two_tabs_of_one_session_agree(
    context: BrowserContext, at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    handle = await open_session(at_home, site, me, agent_of(me, lines(*GROWING, delay=0.01)))
    other = await context.new_page()
    await other.goto(f"{site.url}/sessions/{handle}")
    await expect(other.locator(".connection")).to_have_text("Connected")
    await ask(at_home, "Both")
    for tab in (at_home, other):
        await expect(tab.get_by_text("Working…")).to_have_count(0)
        await expect(tab.locator(".prose")).to_contain_text("word39")
    assert await at_home.locator(".turns").inner_text() == await other.locator(".turns").inner_text()


async def test_a_query_over_the_daily_limit_is_refused_and_not_lost(
    context: BrowserContext, page: Page, site: Site, person: Callable[..., Person]
) -> None:
    limited = await run_db(person, daily_query_limit=1)
    await sign_in(context, site, limited)
    await open_session(page, site, limited)
    await ask(page, "first")
    await expect(page.locator(".prose")).to_have_text("first")
    await ask(page, "second")
    await expect(page.get_by_role("alert")).to_contain_text("questions are used up")
    for _ in range(2):
        await expect(page.get_by_label("Message")).to_have_value("second")
        await page.reload()
    await page.goto(site.url)
    await page.get_by_label("Your question").fill("third")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("alert")).to_contain_text("questions are used up")
    await expect(page.get_by_label("Your question")).to_have_value("third")


async def test_a_deleted_session_is_gone_from_its_address(at_home: Page, site: Site, me: Person) -> None:
    handle = await open_session(at_home, site, me)
    await at_home.get_by_role("button", name="Delete this session").click()
    await expect(at_home.locator(".notices")).to_contain_text("Deleted")
    gone = await at_home.goto(f"{site.url}/sessions/{handle}")
    assert gone is not None
    assert gone.status == 404
    await expect(at_home.get_by_role("heading", name="There is nothing here")).to_be_visible()


async def test_a_page_open_on_a_deleted_session_says_so(at_home: Page, site: Site, me: Person) -> None:
    handle = await open_session(at_home, site, me)
    assert me.http.delete(f"/api/sessions/{handle}").status_code == 204
    await at_home.evaluate("dispatchEvent(new Event('online'))")
    await expect(at_home.locator(".connection")).to_have_text("This session no longer exists.")


async def test_a_session_is_nobody_elses(
    context: BrowserContext, page: Page, site: Site, me: Person, person: Callable[..., Person]
) -> None:
    handle = me.new_session()
    await page.goto(f"{site.url}/sessions/{handle}")
    await expect(page).to_have_url(f"{site.url}/accounts/login/?next=/sessions/{handle}")
    await sign_in(context, site, await run_db(person))
    gone = await page.goto(f"{site.url}/sessions/{handle}")
    assert gone is not None
    assert gone.status == 404


async def test_a_query_survives_the_death_of_the_connection_it_was_sent_on(
    context: BrowserContext, at_home: Page, site: Site, me: Person
) -> None:
    handle = await open_session(at_home, site, me)
    await context.set_offline(True)
    await at_home.evaluate("document.querySelector('fixie-chat').socket.stop()")
    await ask(at_home, "Across the gap")
    await context.set_offline(False)
    await at_home.reload()
    await expect(at_home.locator(".prose")).to_have_text("Across the gap")
    assert wait_until(lambda: len(me.settled(handle))) == 2


PAGES = ["/", "/accounts/email/", "/accounts/password/change/", "/accounts/3rdparty/", "/accounts/logout/", "/nowhere"]


@pytest.mark.parametrize("path", PAGES)
async def test_pages_hold_nothing_inline(at_home: Page, site: Site, path: str) -> None:
    await _under_strict_policy(at_home, f"{site.url}{path}")


async def test_the_chat_works_under_a_strict_policy(at_home: Page, site: Site, me: Person) -> None:
    await _under_strict_policy(at_home, f"{site.url}/sessions/{me.new_session()}", said="`x = 1`")


async def _under_strict_policy(page: Page, url: str, said: str = "") -> None:
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))

    async def with_policy(route: Route) -> None:
        headers = await route.request.all_headers()
        async with httpx2.AsyncClient() as client:
            response = await client.get(url, headers={"cookie": headers["cookie"]})
        policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'"
        headers = {"content-type": response.headers["content-type"], "content-security-policy": policy}
        await route.fulfill(status=response.status_code, body=response.text, headers=headers)

    await page.route(url, with_policy)
    await page.goto(url)
    if said:
        await ask(page, said)
        await expect(page.locator(".prose code")).to_have_text("x = 1")
    await page.wait_for_load_state("networkidle")
    assert [text for text in problems if "Content Security Policy" in text or "Error" in text] == []


async def test_a_page_of_which_a_part_does_not_load_says_so(at_home: Page, site: Site, me: Person) -> None:
    await at_home.route("**/js/transcript*.js", lambda route: route.abort())
    session = await run_db(me.new_session)
    await at_home.goto(f"{site.url}/sessions/{session}")
    await expect(at_home.get_by_role("alert")).to_have_text("A part of this page did not load. Load it again")
    await at_home.unroute("**/js/transcript*.js")
    await at_home.get_by_role("link", name="Load it again").click()
    await expect(at_home.get_by_label("Message")).to_be_visible()
