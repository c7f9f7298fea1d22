"""The account in a browser: colours that change at once and stay, the language, the chart, all with the keyboard."""

from collections.abc import Callable
from datetime import UTC, datetime

from playwright.async_api import BrowserContext, Page, expect

from common.db import run_db
from tests.sessions_app.people import Person
from tests.sites import Site


def _use(person: Person) -> None:
    from accounts.models import UsageDay

    UsageDay.objects.create(user=person.user, agent=2**40, day=datetime.now(UTC).date(), queries=4)


async def background(page: Page) -> str:
    color: str = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    return color


async def test_colours_change_at_once_and_stay(at_home: Page, site: Site) -> None:
    await at_home.emulate_media(color_scheme="light")
    await at_home.goto(f"{site.url}/account")
    light = await background(at_home)

    await at_home.click("#account-menu summary")
    dark = at_home.locator("#account-menu").get_by_role("button", name="Dark")
    async with at_home.expect_response("**/preferences"):
        await dark.click()

    await expect(dark).to_have_attribute("aria-pressed", "true")
    assert await background(at_home) != light
    await at_home.reload()
    assert await background(at_home) != light


async def test_the_menu_tells_what_is_left_and_closes_with_escape(at_home: Page, site: Site) -> None:
    await at_home.goto(f"{site.url}/account")
    summary = at_home.locator("#account-menu summary")

    await summary.focus()
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator("#menu-quota")).to_contain_text("1,000 queries left today")
    await at_home.keyboard.press("Tab")
    await expect(at_home.locator("#account-menu").get_by_role("link", name="Account")).to_be_focused()
    await at_home.keyboard.press("Escape")
    await expect(summary).to_be_focused()
    await expect(at_home.locator("#account-menu .menu-body")).to_be_hidden()


async def test_the_language_changes_without_scripts_too(context: BrowserContext, site: Site) -> None:
    await context.route("**/*.js", lambda route: route.abort())
    page = await context.new_page()
    await page.goto(f"{site.url}/accounts/login/")

    await page.click("details.menu summary")
    await page.get_by_role("button", name="Deutsch").click()

    await expect(page.locator("html")).to_have_attribute("lang", "de")
    assert page.url == f"{site.url}/accounts/login/"


async def test_usage_is_a_chart_that_fits_a_phone(at_home: Page, site: Site, me: Person) -> None:
    await run_db(_use, me)
    await at_home.set_viewport_size({"width": 360, "height": 700})
    await at_home.goto(f"{site.url}/account/usage")

    bars = at_home.locator(".chart-bars .colour-1")
    await expect(bars).to_have_count(1)
    box = await bars.bounding_box()
    assert box is not None
    assert box["height"] > 50
    assert await at_home.evaluate("document.documentElement.scrollWidth") <= 360
    await at_home.get_by_label("Time").select_option("90")
    await at_home.get_by_role("button", name="Show").press("Enter")
    await expect(at_home.locator(".chart-day")).to_have_count(90)


async def test_a_new_key_is_shown_once(at_home: Page, site: Site, person: Callable[..., Person]) -> None:
    await at_home.goto(f"{site.url}/accounts/keys")
    await at_home.get_by_label("Name").fill("My laptop")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator("#new-key")).to_be_visible()

    await at_home.reload()
    await expect(at_home.locator("#new-key")).to_have_count(0)
    await at_home.go_back()
    await expect(at_home.locator("#new-key")).to_have_count(0)
    await expect(at_home.get_by_text("My laptop", exact=True)).to_have_count(1)
