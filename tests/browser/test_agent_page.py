"""The page of an agent in a real browser: what its owner does there, by the keyboard, on any screen."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.async_api import Browser, Page, expect

from common.db import run_db
from tests.browser.conftest import sign_in
from tests.registry.indexed import indexed_agent, sample
from tests.sessions_app.people import Person
from tests.sites import Site

LONG = "Throw two dice and tell me whether the sum is larger than ten. " * 20


@pytest.fixture
async def dice(me: Person, make_user: Any) -> str:
    """The path of an agent of mine that does not answer, with suggestions and a clash."""
    return await run_db(_dice, me, make_user)


def _dice(me: Person, make_user: Any) -> str:
    from registry.models import Liveness

    agent = indexed_agent(me.user.owner, handle="dice", name="Dice")
    other = indexed_agent(make_user().owner, handle="h" * 50, name="Copy")
    sample(agent, "Roll 3d8", source="few_shot", clash=other)
    for text in ("Tell a joke", LONG, "Draw a card"):
        sample(agent, text, make_user())
    last = timezone.now() - timedelta(hours=5)
    Liveness.objects.create(agent=agent, healthy=False, last_alive=last, next_check=last + timedelta(days=9))
    return f"/agents/{agent.agent_id}"


async def press(page: Page, button: str) -> None:
    """Goes to a button with the keyboard alone, and presses it."""
    wanted = page.get_by_role("button", name=button).first
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await wanted.evaluate("button => button === document.activeElement"):
            await page.keyboard.press("Enter")
            return
    raise AssertionError(f"The keyboard does not lead to {button}.")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1440, "light")])
async def test_an_owner_decides_by_keyboard_what_leads_to_the_agent(
    browser: Browser, site: Site, me: Person, dice: str, width: int, scheme: Any
) -> None:
    context = await browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    await sign_in(context, site, me)
    page = await context.new_page()
    await page.goto(f"{site.url}{dice}")
    await expect(page.get_by_text("Not answering since")).to_be_visible()
    await expect(page.get_by_text("answers “Roll 3d8” too")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0

    await press(page, "Accept “Draw a card”")
    await expect(page.get_by_role("status")).to_have_text("Accepted “Draw a card”.")
    await press(page, "Dismiss “Tell a joke”")
    await expect(page.get_by_role("status")).to_have_text("“Tell a joke” no longer leads here.")
    await page.get_by_label("What can it be asked?").fill("Roll a die\nFlip a coin")
    await press(page, "Save")
    await expect(page.get_by_role("status")).to_have_text("Saved.")

    await expect(page.get_by_label("What can it be asked?")).to_have_value("Roll a die\nFlip a coin")
    await expect(page.get_by_role("button", name="Dismiss")).to_have_count(1)
    await page.get_by_text("What the Router knows it by").click()
    await expect(page.get_by_role("button", name="Delete “Draw a card”")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    await context.close()
