"""GraphiQL for staff: the site's schema, queries and subscriptions, with nothing from elsewhere."""

import json
from collections.abc import Callable
from contextlib import suppress

import pytest
from playwright.async_api import BrowserContext, Page, Request, TimeoutError, expect

from tests.browser.conftest import sign_in
from tests.sessions_app.people import Person
from tests.sites import Site


@pytest.fixture
def staff(person: Callable[..., Person]) -> Person:
    return person(is_staff=True)


@pytest.fixture
def session(staff: Person) -> str:
    return staff.new_session()


@pytest.fixture
async def graphiql(context: BrowserContext, site: Site, staff: Person, session: str) -> Page:
    """GraphiQL with a query and a subscription in its editor, signed in."""
    await sign_in(context, site, staff)
    page = await context.new_page()
    events = f'subscription Events {{ sessionEvents(handle: "{session}") {{ __typename }} }}'
    documents = f"query Me {{ user {{ username }} }} {events}"
    stored = json.dumps({"graphiql:query": documents})
    await page.add_init_script(f"Object.assign(localStorage, {stored})")
    return page


async def run(page: Page, operation: str) -> None:
    """Chooses an operation from the menu, which is there once GraphiQL has read its editor: until then, again."""
    for _ in range(10):
        await page.get_by_role("button", name="Execute query").click()
        with suppress(TimeoutError):
            await page.get_by_role("menuitem", name=operation).click(timeout=1500)
            return
    raise AssertionError(f"GraphiQL does not offer {operation}.")


async def test_staff_ask_and_follow(graphiql: Page, site: Site, staff: Person) -> None:
    foreign: list[str] = []
    errors: list[str] = []

    def watch(request: Request) -> None:
        if not request.url.startswith((site.url, site.ws_url, "data:", "blob:")):
            foreign.append(request.url)

    graphiql.on("request", watch)
    graphiql.on("pageerror", lambda error: errors.append(str(error)))
    await graphiql.goto(f"{site.url}/graphql")
    answer = graphiql.get_by_label("Result Window")
    await run(graphiql, "Me")
    await expect(answer).to_contain_text(staff.user.username)
    await run(graphiql, "Events")
    await expect(answer).to_contain_text("SyncedEvent")
    assert foreign == []
    assert errors == []
