"""Why an agent was asked, and asking somebody else instead."""

from typing import Any
from unittest.mock import ANY

import pytest
from playwright.async_api import Page, Route, expect

from registry.bootstrap import ensure_front_agent
from tests.agents import ScriptedAgent
from tests.browser.scenes import ended, rolled, routing, unfolded
from tests.browser.stage import Frame, Stage, message, said, state
from tests.browser.test_socket import opened
from tests.sessions_app.asking import says
from tests.sessions_app.fronting import Zoo
from tests.sessions_app.people import Person
from tests.sites import Site

CLOSE = "Two agents are near:\n0.51 fixie/dice: Roll two dice\n0.44 games/wheel: Roll the wheel\n0.02 fixie/calc: 2 + 2"
NONE = "No agent fits this well enough. The nearest are:\n0.21 fixie/dice: Roll two dice\n0.14 games/wheel: Roll it"
RULE = "A rule chose (any query: dice, roll):\n1.00 fixie/dice: \n0.40 fixie/calc: What is 2 + 2?"

PASSED = (
    "A rule chose (any query: dice):\nPassed over: old/dice is switched off; a/b does not answer.\n1.00 fixie/dice: \n"
    "Also near, by their sample queries:\n0.40 fixie/calc: What is 2 + 2?"
)


def answered(words: str) -> tuple[list[Frame], list[Frame]]:
    """A query that the Fixie agent answered itself, because the Router did not choose."""
    reply = "Which one shall I ask?\n- @fixie/dice: rolls dice\n- @games/wheel: rolls, too"
    messages = [message(1, "query", "roll something"), *routing(2, words), message(4, "response", reply)]
    return messages, [state("completed", agent="fixie/fixie")]


async def reply_to(page: Page, path: str, status: int, body: Any) -> list[Any]:
    """Answers the page's calls of `path`; what it sent is in the list."""
    sent: list[Any] = []

    async def fulfill(route: Route) -> None:
        sent.append(route.request.post_data_json)
        await route.fulfill(status=status, json=body)

    await page.route(f"**{path}", fulfill)
    return sent


# Why this agent


async def test_a_route_unfolds_to_the_agents_that_were_considered(page: Page, stage: Stage) -> None:
    stage.set(rolled(), ended())
    await opened(page, stage)
    await page.locator(".steps > summary").click()
    route = page.locator(".route")
    await expect(route.locator("summary")).to_have_text("Chose fixie/dice")
    await expect(route.get_by_text("How this was routed")).to_be_hidden()
    await route.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(route.get_by_text("How this was routed")).to_be_visible()
    considered = route.get_by_role("list", name="Agents that were considered").get_by_role("listitem")
    await expect(considered).to_have_count(3)
    await expect(considered.first).to_have_text("fixie/dice 93 % Roll two dice")
    assert await considered.first.locator("progress").evaluate("(bar) => bar.value") == 0.93


@pytest.mark.parametrize(
    ("words", "summary", "reason"),
    [
        (CLOSE, "Undecided between fixie/dice and games/wheel", "about as near"),
        (NONE, "Found no agent that fits", "too far"),
        (RULE, "Chose fixie/dice by a rule", "A rule of this site chose (any query: dice, roll)."),
        (PASSED, "Chose fixie/dice by a rule", "Passed over: old/dice is switched off; a/b does not answer."),
        ("There are no agents to ask.", "Found no agent that fits", "There are no agents to ask."),
    ],
    ids=["close", "none", "rule", "passed over", "nobody"],
)
async def test_a_route_says_in_words_why_it_chose_or_did_not(
    page: Page, stage: Stage, words: str, summary: str, reason: str
) -> None:
    stage.set(*answered(words))
    await opened(page, stage)
    await unfolded(page)
    await expect(page.locator(".route summary")).to_have_text(summary)
    await expect(page.locator(".why")).to_contain_text(reason)


async def test_a_route_of_which_nothing_is_known_yet_or_any_more_is_a_step_like_others(
    page: Page, stage: Stage
) -> None:
    stage.set([message(1, "query", "Hi"), routing(2, "")[0]], [state("canceled")])
    await opened(page, stage)
    await page.locator(".steps > summary").click()
    await expect(page.locator(".step")).to_have_text("Asked which agent fits")


# Somebody else


async def test_the_same_is_asked_of_another_agent_that_was_considered(page: Page, stage: Stage) -> None:
    stage.set(rolled(), ended())
    connection = await opened(page, stage)
    sent = await reply_to(page, "/api/runs/run-1/ask", 202, {"run": "run-3", "seq": 9})
    button = page.get_by_role("button", name="Ask someone else")
    await button.focus()
    await page.keyboard.press("Enter")
    # Not of the agent that has answered.
    await expect(page.locator(".other .agent")).to_have_text(["fixie/calc", "fixie/units"])
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(".note")).to_have_text("Asked fixie/calc instead. Fixie will remember this for you.")
    await expect(page.locator(".announcer")).to_have_text("Asked fixie/calc instead. Fixie will remember this for you.")
    assert sent == [{"agent": "fixie/calc", "client_id": ANY}]
    await expect(page.locator(".others")).to_be_hidden()
    await expect(page.get_by_label("Message")).to_be_focused()
    await connection.send(said(9, "query", "roll 3d6", "run-3"), said(10, "response", "Seven.", "run-3"))
    await expect(page.locator(".prose").last).to_have_text("Seven.")


async def test_any_agent_can_be_named_and_a_refusal_is_told(page: Page, stage: Stage) -> None:
    stage.set(rolled(), ended())
    await opened(page, stage)
    refusal = {"error": {"code": "not_found", "message": "There is no agent nobody/here.", "details": {}}}
    sent = await reply_to(page, "/api/runs/run-1/ask", 404, refusal)
    await page.get_by_role("button", name="Ask someone else").click()
    await page.get_by_label("Or any other agent").fill(" @nobody/here ")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_text("There is no agent nobody/here.")
    assert sent == [{"agent": "nobody/here", "client_id": ANY}]
    await page.unroute("**/api/runs/run-1/ask")
    await page.route("**/api/runs/run-1/ask", lambda route: route.abort())
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_have_text("The site could not be reached. Try again.")
    await expect(page.locator(".note")).to_have_count(0)


async def test_who_tries_again_because_no_answer_came_asks_once(page: Page, stage: Stage) -> None:
    stage.set(rolled(), ended())
    await opened(page, stage)
    lost: list[Any] = []

    async def lose(route: Route) -> None:
        lost.append(route.request.post_data_json)
        await route.abort()

    await page.route("**/api/runs/run-1/ask", lose)
    await page.get_by_role("button", name="Ask someone else").click()
    await page.locator(".other").first.dblclick()
    await expect(page.get_by_role("alert")).to_have_text("The site could not be reached. Try again.")
    await page.locator(".other").last.click()
    await expect(page.get_by_role("alert")).to_have_text("The site could not be reached. Try again.")
    await page.unroute("**/api/runs/run-1/ask")
    sent = await reply_to(page, "/api/runs/run-1/ask", 202, {"run": "run-3", "seq": 9})
    await page.locator(".other").first.dblclick()
    await expect(page.locator(".note")).to_have_text("Asked fixie/calc instead. Fixie will remember this for you.")
    calc = [body for body in (*lost, *sent) if body["agent"] == "fixie/calc"]
    units = [body for body in lost if body["agent"] == "fixie/units"]
    assert len(calc) >= 2
    assert [body["client_id"] for body in calc] == [calc[0]["client_id"]] * len(calc)
    assert units[0]["client_id"] != calc[0]["client_id"]


async def test_where_nothing_was_routed_the_router_is_asked_for_other_agents(page: Page, stage: Stage) -> None:
    messages = [message(1, "query", "2 + 2?"), message(2, "error", "It is broken.")]
    stage.set(messages, [state("failed", agent="fixie/calc")])
    await opened(page, stage)
    candidates = [
        {"agent": agent, "name": "", "score": score, "matched_query": "How much is it?", "similarity": 0.5}
        for agent, score in (("fixie/calc", 0.9), ("fixie/dice", 0.05))
    ]
    sent = await reply_to(page, "/api/route", 200, {"candidates": candidates, "abstain": False})
    await page.get_by_role("button", name="Ask someone else").click()
    await expect(page.locator(".other")).to_have_text("fixie/dice 5 % How much is it?")
    assert sent == [{"text": "2 + 2?"}]


async def test_escape_closes_the_choice_and_stops_nothing(page: Page, stage: Stage) -> None:
    runs = [*ended(), state("in_progress", "run-3", 9)]
    stage.set([*rolled(), message(9, "query", "And now?", "run-3")], runs)
    connection = await opened(page, stage)
    button = page.get_by_role("button", name="Ask someone else")
    await button.click()
    await page.get_by_label("Or any other agent").focus()
    await page.keyboard.press("Escape")
    await expect(page.locator(".others")).to_be_hidden()
    await expect(button).to_be_focused()
    assert connection.received.empty()


@pytest.mark.parametrize(
    ("words", "name"), [(CLOSE, "Which one?"), (NONE, "The nearest agents")], ids=["close", "none"]
)
async def test_agents_that_were_left_open_are_one_click_away(page: Page, stage: Stage, words: str, name: str) -> None:
    stage.set(*answered(words))
    await opened(page, stage)
    sent = await reply_to(page, "/api/runs/run-1/ask", 202, {"run": "run-3", "seq": 5})
    buttons = page.get_by_role("group", name=name).get_by_role("button")
    await expect(buttons).to_have_text(["fixie/dice", "games/wheel"])
    await buttons.last.click()
    await expect(page.locator(".note")).to_contain_text("games/wheel")
    await expect(buttons).to_have_count(0)
    assert sent == [{"agent": "games/wheel", "client_id": ANY}]


# On the whole site


@pytest.fixture(scope="module")
def front(echo: str) -> None:
    """The Fixie agent, to which a question goes that is for nobody in particular."""
    ensure_front_agent()


async def test_who_just_asks_is_answered_by_the_agent_that_fits_and_may_ask_another(
    at_home: Page, site: Site, me: Person, scripted: ScriptedAgent, front: None
) -> None:
    zoo = Zoo(scripted, me.http)
    fish = zoo.agent(says("Seven."), "Count my spotted goldfish", "How many goldfish are spotted?")
    snail = zoo.agent(says("None."), "Weigh my heavy snail")
    await at_home.goto(site.url)
    await expect(at_home.get_by_label("Agent", exact=True).locator("option:checked")).to_have_text("Fixie chooses")
    await at_home.get_by_label("Your question").fill("please count my spotted goldfish")
    await at_home.get_by_role("button", name="Send").click()
    await expect(at_home.locator(".reply .prose")).to_have_text("Seven.")
    await expect(at_home.locator(".steps > summary", has_text=fish)).to_be_attached()
    await unfolded(at_home)
    await expect(at_home.locator(".route summary")).to_have_text(f"Chose {fish}")
    await expect(at_home.locator(".matched").first).to_have_text("Count my spotted goldfish")
    await expect(at_home.locator("fixie-child .prose")).to_have_text("Seven.")
    await at_home.get_by_role("button", name="Ask someone else").click()
    await at_home.get_by_label("Or any other agent").fill(f"@{snail}")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".note")).to_contain_text("Fixie will remember this for you.")
    await expect(at_home.locator(".reply .prose").last).to_have_text("None.")


async def test_agents_that_are_left_to_choose_from_are_asked_by_a_click(
    at_home: Page, site: Site, me: Person, scripted: ScriptedAgent, front: None
) -> None:
    zoo = Zoo(scripted, me.http)
    for name in ("red", "blue"):
        zoo.agent(says(f"Walked the {name} one."), "Walk my tiny elephant", "Take my elephant for a walk")
    handle = me.new_session(None)
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await at_home.get_by_label("Message").fill("walk my tiny elephant")
    await at_home.keyboard.press("Enter")
    buttons = at_home.get_by_role("group", name="Which one?").get_by_role("button")
    await expect(buttons).to_have_count(2)
    await buttons.first.click()
    await expect(at_home.locator(".reply .prose").last).to_contain_text("Walked the")
