"""Completing `@owner/handle`, with the keyboard and with the mouse."""

import uuid
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest
from playwright.async_api import Page, expect

from common.db import run_db
from tests.browser.test_chat import AgentOf, ask, open_session
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import lines
from tests.sites import Site

if TYPE_CHECKING:
    from registry.models import Agent


@pytest.fixture
async def word(me: Person) -> AsyncIterator[str]:
    """What the handles of three agents of mine begin with: the third one does not answer."""
    found = f"w{uuid.uuid4().hex[:8]}"
    agents = await run_db(_three, me, found)
    yield found
    await run_db(_delete, agents)


def _three(me: Person, word: str) -> "list[Agent]":
    from registry.actions import create_agent
    from registry.models import Liveness
    from tests.registry.readings import reads

    fields = [("a", "Alpha", "Says *alpha*.\nAnd more."), ("b", "", "<b>Bold</b>"), ("c", "", "")]
    agents = [
        create_agent(by=me.user, handle=f"{word}-{end}", name=name, description=words, reading=reads())
        for end, name, words in fields
    ]
    Liveness.objects.create(agent=agents[2], healthy=False)
    return agents


def _delete(agents: "list[Agent]") -> None:
    from registry.actions import delete_agent

    for agent in agents:
        delete_agent(agent=agent)


async def test_arrows_and_enter_choose_an_agent(at_home: Page, site: Site, me: Person, word: str) -> None:
    await open_session(at_home, site, me)
    field = at_home.get_by_label("Message")
    await at_home.keyboard.type(f"@{word}")
    options = at_home.get_by_role("option")
    name = me.user.username
    await expect(options).to_have_count(3)
    await expect(options.first).to_contain_text(f"Alpha @{name}/{word}-a")
    await expect(options.first).to_contain_text("Says *alpha*.")
    await expect(options.nth(1)).to_contain_text("<b>Bold</b>")
    await expect(options.last).to_contain_text("not answering")
    await at_home.keyboard.press("ArrowDown")
    await expect(at_home.get_by_role("option", selected=True)).to_contain_text(f"{word}-b")
    assert await field.get_attribute("aria-activedescendant") == await options.nth(1).get_attribute("id")
    await at_home.keyboard.press("Enter")
    await expect(field).to_have_value(f"@{name}/{word}-b ")
    await expect(options).to_have_count(0)
    assert await field.get_attribute("aria-activedescendant") is None


async def test_it_narrows_down_as_one_types_and_tab_or_a_click_choose(
    at_home: Page, site: Site, me: Person, word: str
) -> None:
    await open_session(at_home, site, me)
    field = at_home.get_by_label("Message")
    name = me.user.username
    await at_home.keyboard.type(f"Ask @{name}/{word}-")
    await expect(at_home.get_by_role("option")).to_have_count(3)
    await at_home.keyboard.type("a")
    await expect(at_home.get_by_role("option")).to_have_count(0)  # it is there in full
    await at_home.keyboard.press("Backspace")
    await at_home.get_by_role("option").nth(1).click()
    await expect(field).to_have_value(f"Ask @{name}/{word}-b ")
    await expect(field).to_be_focused()
    await field.fill("")
    await at_home.keyboard.type(f"@{word}-c")
    await expect(at_home.get_by_role("option")).to_have_count(1)
    await at_home.keyboard.press("Tab")
    await expect(field).to_have_value(f"@{name}/{word}-c ")


async def test_escape_closes_the_list_and_stops_no_answer(
    at_home: Page, site: Site, me: Person, word: str, agent_of: AgentOf
) -> None:
    await open_session(at_home, site, me, agent_of(me, lines("one ", "one two", delay=4)))
    await ask(at_home, "Slowly")
    await expect(at_home.get_by_role("button", name="Stop")).to_be_visible()
    await at_home.keyboard.type(f"@{word}")
    await expect(at_home.get_by_role("option")).to_have_count(3)
    await at_home.keyboard.press("Escape")
    await expect(at_home.get_by_role("option")).to_have_count(0)
    await expect(at_home.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    await at_home.keyboard.type("-")
    await at_home.wait_for_timeout(400)
    await expect(at_home.get_by_role("option")).to_have_count(0)


async def test_agents_of_others_are_not_offered(
    at_home: Page, site: Site, me: Person, word: str, person: Callable[..., Person]
) -> None:
    from tests.browser.conftest import sign_in

    other = await run_db(person)
    await sign_in(at_home.context, site, other)
    await open_session(at_home, site, other)
    async with at_home.expect_response("**/api/complete*"):
        await at_home.keyboard.type(f"@{word}")
    await expect(at_home.get_by_role("option")).to_have_count(0)
