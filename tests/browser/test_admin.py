"""What operators see in a real browser: a dashboard that goes on by itself, a run's picture, content that is opened."""

import re
import uuid
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from playwright.async_api import Browser, Page, expect

from accounts.models import User
from common.db import run_db
from sessions_app.models import Run
from tests.browser.conftest import sign_in
from tests.sessions_app.people import Person
from tests.sites import Site

AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
SECRET = "a secret between us"


@pytest.fixture
async def administrator(site: Site) -> Person:
    user = await run_db(User.objects.create_superuser, f"root-{uuid.uuid4().hex[:12]}")
    return Person(user, "", site.client())


@pytest.fixture
async def run(person: Callable[..., Person], echo: str) -> Run:
    return await run_db(_asked, person)


def _asked(person: Callable[..., Person]) -> Run:
    somebody = person()
    posted = somebody.post(somebody.new_session(), SECRET)
    somebody.settled(posted["session"])
    return Run.objects.select_related("session").get(pk=posted["run"])


class Tab:
    """A tab that keeps what its page was refused, and where it asked."""

    def __init__(self, page: Page, site: Site) -> None:
        self.page, self.site = page, site
        self.complaints: list[str] = []
        self.addresses: list[str] = []
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.addresses.append(request.url))

    async def open(self, path: str) -> None:
        await self.page.goto(f"{self.site.url}/admin/{path}")

    async def violations(self, part: str) -> list[str]:
        await self.page.evaluate(AXE)
        found = await self.page.evaluate("part => axe.run(part)", part)
        return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found["violations"]]

    def check(self) -> None:
        """Nothing was refused, and nothing came from elsewhere."""
        assert self.complaints == []
        elsewhere = [url for url in self.addresses if not url.startswith((self.site.url, "data:", "blob:"))]
        assert elsewhere == []


@pytest.fixture(params=["light", "dark"])
async def tab(browser: Browser, site: Site, administrator: Person, request: Any) -> Any:
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=request.param)
    context.set_default_timeout(15_000)
    await sign_in(context, site, administrator)
    yield Tab(await context.new_page(), site)
    await context.close()


async def test_the_dashboard_goes_on_by_itself_until_it_is_paused(tab: Tab, run: Run) -> None:
    await tab.open("")
    page = tab.page
    updated = page.locator("#dashboard-state time")
    first = await updated.text_content()
    assert await tab.violations("#dashboard") == []

    summary = page.get_by_text("The numbers").first
    await summary.click()
    await expect(updated).not_to_have_text(first or "", timeout=15_000)
    await expect(page.locator("details").first).to_have_attribute("open", "")
    await expect(summary).to_be_focused()

    await page.get_by_role("link", name="Month").click()
    await expect(page.get_by_text("Busiest agents of the last 24 hours")).to_be_visible()
    await expect(page.get_by_role("link", name="Month")).to_have_attribute("aria-current", "true")
    assert page.url.endswith("?range=month")

    await page.get_by_role("button", name="Pause").click()
    await expect(page.locator("#dashboard-state")).to_contain_text("Paused")
    asked = len(tab.addresses)
    await page.wait_for_timeout(6_000)
    assert len(tab.addresses) == asked
    tab.check()


async def test_the_dashboard_says_when_it_cannot_be_updated(tab: Tab) -> None:
    await tab.page.route(re.compile("/admin/dashboard"), lambda route: route.abort())
    await tab.open("")

    await expect(tab.page.locator("#dashboard-state")).to_have_text("Cannot be updated; trying again", timeout=15_000)
    await expect(tab.page.locator("#dashboard-status")).to_have_text("Cannot be updated; trying again")


async def test_a_runs_picture_tells_what_was_said_only_when_it_is_opened(
    tab: Tab, run: Run, administrator: Person
) -> None:
    await tab.open(f"sessions_app/run/{run.pk}/change/")
    page = tab.page
    await expect(page.locator(".fx-waterfall tbody tr")).to_have_count(3)
    assert SECRET not in await page.content()
    assert await tab.violations(".fx-waterfall") == []

    await page.get_by_role("link", name="Read what was said").click()
    await page.get_by_label("Reason").fill("ticket 17")
    await page.get_by_role("button", name="Read", exact=True).click()
    await expect(page.get_by_text(SECRET).first).to_be_visible()
    assert await tab.violations(".fx-waterfall") == []

    await page.get_by_role("link", name="Back to the run").click()
    await expect(page.locator(".fx-waterfall tbody tr")).to_have_count(3)
    assert SECRET not in await page.content()
    noted = await run_db(_noted, administrator.user)
    assert noted == [(run.session.handle, f"Read run {run.pk}. Reason: ticket 17")]
    tab.check()


def _noted(user: User) -> list[tuple[str, str]]:
    return [(entry.object_repr, entry.get_change_message()) for entry in LogEntry.objects.filter(user=user)]


async def test_runs_are_found_by_a_user_picked_by_name(tab: Tab, run: Run) -> None:
    owner = await run_db(lambda: run.session.owner.username)
    await tab.open("sessions_app/run/")
    page = tab.page
    await page.locator("a", has_text="Filters").click()
    await page.locator("#changelist-filter .select2-selection").first.click()
    await page.locator(".select2-search__field").fill(owner)
    await page.locator(".select2-results__option").get_by_text(owner).click()
    await page.get_by_role("button", name="Apply Filters").click()

    await expect(page.locator("#result_list tbody tr")).to_have_count(1)
    await expect(page.get_by_text(run.session.handle)).to_be_visible()
    tab.check()
