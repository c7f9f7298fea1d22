"""The admin's pages of people in a real browser: a bulk action that asks first, and acting as somebody and back."""

import re
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from accounts.models import User
from common.db import run_db
from tests.accounts.operators import superuser
from tests.browser.conftest import sign_in
from tests.sessions_app.people import Person
from tests.sites import Site


@pytest.fixture
async def root() -> User:
    return await run_db(superuser)


@pytest.fixture(params=["light", "dark"])
async def desk(request: Any, browser: Browser, site: Site, root: User) -> Any:
    """A tab of an operator in one of the themes, in which nothing is forbidden by the page's policy."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=request.param)
    context.set_default_timeout(20_000)
    await context.add_cookies([{"name": "theme", "value": request.param, "url": site.url}])
    await _sign_in(context, site, root)
    page = await context.new_page()
    broken: list[str] = []
    page.on("console", lambda message: broken.append(message.text) if "Content Security" in message.text else None)
    page.on("pageerror", lambda error: broken.append(str(error)))
    yield page
    await context.close()
    assert broken == []


async def _sign_in(context: BrowserContext, site: Site, user: User) -> None:
    await sign_in(context, site, Person(user, "", None))  # type: ignore[arg-type]  # a browser needs neither


async def test_credits_are_granted_to_chosen_people_on_a_page_between(desk: Page, site: Site, me: Person) -> None:
    name = me.user.username
    await desk.goto(f"{site.url}/admin/accounts/user/?q={name}")
    await desk.get_by_role("row", name=re.compile(name)).get_by_role("checkbox").check()
    await desk.locator('select[name="action"]').select_option("grant")
    await desk.get_by_role("button", name="Run").click()

    await expect(desk.get_by_role("heading", name="Grant credits").first).to_be_visible()
    await expect(desk.get_by_text(name).last).to_be_visible()
    await desk.get_by_label("Queries").fill("25")
    await desk.get_by_label("Reason").fill("a workshop")
    await desk.get_by_role("button", name="Grant credits").click()

    await expect(desk.get_by_text("Done for 1.")).to_be_visible()
    assert (await User.objects.aget(pk=me.user.pk)).credits == 25


async def test_an_operator_acts_as_somebody_and_goes_back(desk: Page, site: Site, root: User, me: Person) -> None:
    name = me.user.username
    await desk.goto(f"{site.url}/admin/accounts/user/{me.user.pk}/change/")
    await desk.get_by_role("link", name="Sign in as").first.click()
    await desk.get_by_label("Reason").fill("ticket 42")
    await desk.get_by_role("button", name="Sign in as").click()

    banner = desk.get_by_role("complementary", name="Acting as somebody else")
    await expect(banner).to_contain_text(f"You ({root.username}) act as {name}.")
    for width in (360, 1440):
        await desk.set_viewport_size({"width": width, "height": 800})
        assert await desk.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    await desk.goto(f"{site.url}/accounts/keys")
    await expect(desk.get_by_role("heading", name="Not in somebody else's name")).to_be_visible()
    await banner.get_by_role("button", name="Back to your own account").click()

    await expect(desk).to_have_url(f"{site.url}/admin/accounts/user/{me.user.pk}/change/")
    await expect(desk.get_by_text("You are back in your own account.")).to_be_visible()
