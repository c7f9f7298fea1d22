"""The registry in a real browser: finding an agent, registering one, its playground, and what it keeps about me."""

import uuid
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from playwright.async_api import Browser, Page, expect

from common.db import run_db
from tests.agents import ScriptedAgent, answer
from tests.browser.conftest import sign_in
from tests.registry.readings import GOOD, serve_manifest
from tests.sessions_app.people import Person
from tests.sites import Site

BAD = """base_prompt: I roll dice.
few_shots:
  - |
    Q: Roll 3d8
    Ask Func[roll]: 8 3
    A: 5
"""


@pytest.fixture
def agent() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as server:
        serve_manifest(server, answer(GOOD))
        server.on("/roll", answer({"message": {"text": "7 7 1"}}))
        server.on("/bad", answer(body=BAD.encode(), content_type="application/yaml"), method="GET")
        yield server


async def is_narrow_enough(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1440, "light")])
async def test_an_agent_is_registered_with_its_manifest_read_while_typing(
    browser: Browser, site: Site, me: Person, agent: ScriptedAgent, width: int, scheme: Any
) -> None:
    context = await browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    context.set_default_timeout(15_000)
    await sign_in(context, site, me)
    page = await context.new_page()
    await page.goto(f"{site.url}/agents/new")

    await page.get_by_label("Address").fill(f"{agent.url}/bad")
    wrong = page.get_by_label("Few-shot 1").locator("li.wrong")
    await expect(wrong).to_contain_text("Ask Func[roll]: 8 3")
    await expect(wrong).to_contain_text("A line `Func[roll] says: …` must follow.")
    await expect(page.get_by_text("1 problem, shown at its line.")).to_be_visible()
    assert await is_narrow_enough(page)
    await page.get_by_label("Address").fill(agent.url)
    await expect(page.get_by_text("This can be registered.")).to_be_visible()
    await expect(page.locator("fixie-manifest code", has_text="roll").first).to_be_visible()
    await page.get_by_label("Name").fill("My Dice")
    await expect(page.get_by_label("Handle")).to_have_value("my-dice")
    await expect(page.get_by_text(f"{me.user.username}/my-dice is free.")).to_be_visible()
    await page.get_by_label("Handle").press("Enter")

    await expect(page.get_by_text("my-dice is registered.")).to_be_visible()
    await expect(page.get_by_role("heading", name="Ask it")).to_be_visible()
    assert await is_narrow_enough(page)
    await context.close()


async def test_an_agent_that_answers_only_under_its_own_name_is_read_when_its_handle_is_there(
    at_home: Page, site: Site, me: Person, agent: ScriptedAgent
) -> None:
    page = at_home
    agent.on("/strict", answer({"detail": "Invalid token"}, status=403), answer(GOOD), method="GET")
    await page.goto(f"{site.url}/agents/new")

    await page.get_by_label("Address").fill(f"{agent.url}/strict")
    await expect(page.get_by_text("It may answer only under its own name")).to_be_visible()
    await page.get_by_label("Handle").fill("strict")

    await expect(page.get_by_text("This can be registered.")).to_be_visible()
    tokens = [request.headers["authorization"].removeprefix("Bearer ") for request in agent.requests]
    names = [jwt.decode(token, options={"verify_signature": False})["aid"] for token in tokens]
    assert names == [f"{me.user.username}/-", f"{me.user.username}/strict"]


async def test_the_list_filters_itself_while_somebody_types_and_one_click_asks(
    at_home: Page, site: Site, me: Person, agent: ScriptedAgent
) -> None:
    word, page = f"w{uuid.uuid4().hex[:8]}", at_home
    for name in ("one", "two"):
        fields = {"handle": f"{word}-{name}", "name": f"{word} {name}", "deployment_url": agent.url}
        assert me.http.post("/api/agents", json=fields).status_code == 201
    await page.goto(f"{site.url}/agents")

    search = page.get_by_label("Search agents")
    await search.press_sequentially(word)
    await expect(page.get_by_role("heading", level=2)).to_have_text([f"{word} one", f"{word} two"])
    await expect(page.locator("#agents-status")).to_have_text("2 agents")
    await expect(search).to_be_focused()
    assert page.url.endswith(f"/agents?q={word}")
    await search.press_sequentially(" two")
    await expect(page.get_by_role("heading", level=2)).to_have_text([f"{word} two"])
    await expect(page.locator("#agents-status")).to_have_text("1 agent")

    await page.get_by_role("button", name="Ask Roll 3d8").click()
    await page.wait_for_url("**/sessions/**")
    await expect(page.get_by_text("7 7 1").first).to_be_visible()


async def test_the_playground_follows_a_run_to_its_end(
    at_home: Page, site: Site, me: Person, agent: ScriptedAgent
) -> None:
    page, handle = at_home, f"dice-{uuid.uuid4().hex[:8]}"
    me.http.post("/api/agents", json={"handle": handle, "deployment_url": agent.url})
    await page.goto(f"{site.url}/agents/{me.user.username}/{handle}")
    await page.get_by_role("link", name="Playground").click()

    await page.get_by_label("Your question").fill("Roll 4d20")
    await page.get_by_role("button", name="Ask", exact=True).click()

    await expect(page.get_by_role("heading", name="Completion 2")).to_be_visible()
    await expect(page.get_by_text("Called Func[roll]")).to_be_visible()
    await expect(page.get_by_label("Transcript").first).to_have_text("Q: Roll 4d20")
    await expect(page.get_by_role("heading", name="The answer")).to_be_visible()
    assert await is_narrow_enough(page)


async def test_a_stored_value_is_read_and_deleted(at_home: Page, site: Site, me: Person, agent: ScriptedAgent) -> None:
    page, handle = at_home, f"keeper-{uuid.uuid4().hex[:8]}"
    made = me.http.post("/api/agents", json={"handle": handle, "name": "Keeper", "deployment_url": agent.url})
    await run_db(_keep, me, made.json()["agent_id"])
    await page.goto(f"{site.url}/account/storage")
    await page.locator("a.session-link", has_text="Keeper").click()
    await page.locator("a.session-link", has_text="colours").click()
    await expect(page.get_by_label("The value")).to_have_text('{\n  "favourite": "blue"\n}')
    await page.go_back()

    await page.get_by_role("link", name="Delete “colours”").click()
    await expect(page.get_by_role("dialog")).to_contain_text("“colours”")
    await page.get_by_role("button", name="Keep it").click()
    await expect(page.get_by_role("link", name="Delete “colours”")).to_be_focused()
    await page.get_by_role("link", name="Delete “colours”").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    await expect(page.get_by_text("Deleted “colours”.")).to_be_visible()
    await expect(page.get_by_role("link", name="colours")).to_have_count(0)
    await expect(page.get_by_text("1 of 1,000 values")).to_be_visible()


def _keep(me: Person, agent: str) -> None:
    from tests.storage_kv.test_pages import keep

    for key in ("colours", "other"):
        keep(agent, me.user, key, b'{"favourite": "blue"}')
