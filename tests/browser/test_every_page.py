"""Every page, in both themes: nothing that keeps people out, that the policy forbids, that is wider than the window."""

import secrets
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import httpx2
import pytest
from playwright.async_api import BrowserContext, Page, expect

from accounts.oauth import CLI_CLIENT_ID
from common.db import run_db
from tests.agents import Behaviour
from tests.browser.conftest import sign_in
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import lines
from tests.sites import Site

AgentOf = Callable[[Person, Behaviour], str]
AXE = (files("axe_playwright_python") / "axe.min.js").read_text()
# Rules of a site's own pages; what the admin's theme brings is judged by the rules of WCAG alone.
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
THEMES = ("light", "dark")
# What the published `fixie auth` opens in a browser.
CONSENT = {
    "client_id": CLI_CLIENT_ID,
    "redirect_uri": "http://localhost:49152",
    "response_type": "code",
    "scope": "api-access",
    "state": "any",
}
MARKDOWN = """# Head

A *word* and `code`, [a link](https://example.com) and #1.

| a | b |
|---|---|
| 1 | 2 |

```python
print("hello")
```

- one
- [x] two
"""

GUESTS = (
    "/",
    "/agents",
    "/shared/{shared}",
    "/shared/nothing-like-this",
    "/accounts/login/",
    "/accounts/signup/",
    "/accounts/password/reset/",
    "/accounts/password/reset/done/",
    "/accounts/password/reset/key/1-old/",
    "/accounts/password/reset/key/done/",
    "/accounts/confirm-email/",
    "/accounts/confirm-email/old/",
    "/accounts/inactive/",
    "/accounts/3rdparty/login/cancelled/",
    "/accounts/3rdparty/login/error/",
    "/account/deleted",
    "/authorize",
    "/oauth",
    "/nothing-here",
)
MINE = (
    "/",
    "/sessions/{session}",
    "/sessions/{session}/delete",
    "/sessions/no-such-session",
    "/shared/{shared}",
    "/agents",
    "/agents?q=nothing-like-this",
    "/agents/new",
    "/agents/{agent}",
    "/agents/{agent}/playground",
    "/agents/{agent}/storage",
    "/agents/{agent}/storage/forget",
    "/agents/{agent}/delete",
    "/agents/fixie/echo",
    "/account",
    "/account/usage",
    "/account/storage",
    "/account/links",
    "/account/export",
    "/account/delete",
    "/account/organizations",
    "/account/organizations/{organization}",
    "/accounts/keys",
    "/accounts/email/",
    "/accounts/password/change/",
    "/accounts/3rdparty/",
    "/accounts/reauthenticate/",
    "/accounts/logout/",
    "/authorize?{consent}",
)
ADMINS = (
    "/admin/",
    "/admin/accounts/user/",
    "/admin/accounts/user/add/",
    "/admin/accounts/user/{user}/change/",
    "/admin/accounts/user/{user}/sign-in-as/",
    "/admin/accounts/user/{user}/grant/",
    "/admin/accounts/organization/",
    "/admin/accounts/organization/{organization_pk}/change/",
    "/admin/accounts/creditentry/",
    "/admin/accounts/apikey/",
    "/admin/accounts/signingkey/",
    "/admin/accounts/usageday/",
    "/admin/admin/logentry/",
    "/admin/registry/agent/",
    "/admin/registry/agent/{agent_pk}/change/",
    "/admin/registry/agent/{agent_pk}/route/",
    "/admin/registry/routingrule/",
    "/admin/registry/routingrule/{rule}/change/",
    "/admin/registry/routingrule/try/",
    "/admin/sessions_app/session/",
    "/admin/sessions_app/session/{session_pk}/change/",
    "/admin/sessions_app/session/{session_pk}/content/",
    "/admin/sessions_app/run/",
    "/admin/sessions_app/run/{run}/change/",
    "/admin/sessions_app/run/{run}/content/",
    "/admin/sessions_app/sharedlink/",
    "/admin/embeds/embed/",
    "/admin/storage_kv/storageusage/",
    "/admin/oauth2_provider/application/",
    "/admin/procrastinate/procrastinatejob/",
)


@pytest.fixture
async def lived_in(me: Person, agent_of: AgentOf) -> dict[str, str]:
    """What there is in the pages of somebody who has been here for a while, by the names that paths use."""
    agent = await run_db(agent_of, me, lines(MARKDOWN))
    return await run_db(_lived_in, me, agent)


def _lived_in(me: Person, agent: str) -> dict[str, str]:
    from accounts.models import Organization
    from registry.models import Agent, RoutingRule
    from sessions_app.models import Session

    session = me.new_session(agent)
    run = me.post(session, "Show me all there is")["run"]
    me.settled(session)
    link = me.http.post(f"/api/sessions/{session}/share").json()["url"]
    organization = f"o-{secrets.token_hex(4)}"
    assert me.http.post("/api/organizations", json={"handle": organization, "name": "Ours"}).status_code == 201
    owner, handle = agent.split("/")
    rule = RoutingRule.objects.create(keywords=["a word that nobody says"], enabled=False)
    return {
        "session": session,
        "session_pk": str(Session.objects.get(handle=session).pk),
        "run": run,
        "shared": link.rpartition("/")[2],
        "agent": agent,
        "agent_pk": str(Agent.objects.get(owner__handle=owner, handle=handle).pk),
        "organization": organization,
        "organization_pk": str(Organization.objects.get(owner__handle=organization).pk),
        "rule": str(rule.pk),
        "user": str(me.user.pk),
        "consent": str(httpx2.QueryParams(CONSENT)),
    }


class Watched:
    """A tab, and what was wrong with the pages it was at: what the policy forbids, and what axe says of them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.found: list[str] = []
        page.on("console", lambda said: self._note(said.text))

    def _note(self, said: str) -> None:
        if "Content Security" in said:
            self.found.append(f"{self.page.url} {said}")

    async def check(self, url: str, rules: list[str] | None = None) -> None:
        """Notes in `found` what is wrong with a page, so that one run tells of all pages."""
        await self.page.goto(url)
        await expect(self.page.locator("main, #main, [role=main]").first).to_be_visible()
        await self.page.wait_for_timeout(150)
        self.found += [f"{url} {text}" for text in await _violations(self.page, rules)]


async def _violations(page: Page, rules: list[str] | None) -> list[str]:
    await page.evaluate(AXE)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "tag", "values": rules}
    found = await page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{violation['id']}: {node['target']} {node['html'][:150]} {node['failureSummary'][:300]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


async def themed(context: BrowserContext, site: Site, theme: str) -> Watched:
    await context.add_cookies([{"name": "theme", "value": theme, "url": site.url}])
    page = await context.new_page()
    await page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    return Watched(page)


@pytest.mark.parametrize("theme", THEMES)
async def test_pages_for_guests_keep_nobody_out(
    context: BrowserContext, site: Site, lived_in: dict[str, str], theme: str
) -> None:
    tab = await themed(context, site, theme)
    for path in GUESTS:
        await tab.check(site.url + path.format(**lived_in))
    assert tab.found == []


@pytest.mark.parametrize("theme", THEMES)
async def test_pages_for_members_keep_nobody_out(
    context: BrowserContext, site: Site, me: Person, lived_in: dict[str, str], theme: str
) -> None:
    await sign_in(context, site, me)
    tab = await themed(context, site, theme)
    for path in MINE:
        await tab.check(site.url + path.format(**lived_in))
    assert tab.found == []


@pytest.mark.parametrize("theme", THEMES)
async def test_pages_for_administrators_keep_nobody_out(
    context: BrowserContext, site: Site, person: Callable[..., Person], lived_in: dict[str, str], theme: str
) -> None:
    await sign_in(context, site, await run_db(lambda: person(is_staff=True, is_superuser=True)))
    tab = await themed(context, site, theme)
    for path in ADMINS:
        await tab.check(site.url + path.format(**lived_in), WCAG)
    assert tab.found == []


@pytest.mark.parametrize("width", [320, 360])
async def test_no_page_is_wider_than_a_small_window(
    context: BrowserContext, site: Site, me: Person, lived_in: dict[str, str], width: int
) -> None:
    """320 pixels are a window of 640 at 200 % zoom, too."""
    page = await context.new_page()
    await page.set_viewport_size({"width": width, "height": 640})
    wide = await _wider(page, width, [site.url + path.format(**lived_in) for path in GUESTS])
    await sign_in(context, site, me)
    wide += await _wider(page, width, [site.url + path.format(**lived_in) for path in MINE])
    assert wide == []


async def _wider(page: Page, width: int, urls: list[str]) -> list[str]:
    wide = []
    for url in urls:
        await page.goto(url)
        if await page.evaluate("document.documentElement.scrollWidth") > width:
            wide.append(url)
    return wide
