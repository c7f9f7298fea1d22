"""Agents that ask agents: what the chat makes of their runs, and how it shows them."""

import json
import random
import re
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from playwright.async_api import Page, Route, expect

from common.db import run_db
from tests.agents import Behaviour
from tests.browser.scenes import asked_of, below, deep, ended, rolled, store_tree, unfolded
from tests.browser.stage import Frame, Stage, delta, message, said, snapshot, state
from tests.browser.test_socket import opened
from tests.browser.test_transcript import applied, modules
from tests.sessions_app.asking import asks
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import held
from tests.sites import Site

__all__ = ["modules"]  # a fixture


def shape(turn: Frame) -> Any:
    """What is to be seen of a turn and of all below it."""
    steps = [step["seq"] for step in turn["steps"]]
    answer = (turn["answer"] or {}).get("seq")
    return turn["run"], turn["agent"], turn["text"], steps, answer, [shape(child) for child in turn["children"]]


# What the transcript makes of it


async def test_a_run_below_another_is_part_of_it_and_not_of_the_conversation(modules: Page) -> None:
    frames = [{"type": "message", "message": one} for one in rolled()]
    result = await applied(modules, *frames[:4], below("run-2", "run-1", 4), *frames[4:], *ended())
    (turn,) = result["turns"]
    assert shape(turn)[:5] == ("run-1", "fixie/fixie", "", [2, 3], 8)
    (child,) = turn["children"]
    assert shape(child) == ("run-2", "fixie/dice", "", [5, 6], 7, [])
    assert child["question"]["text"] == "Ask Agent[fixie/dice]: roll 3d6"


async def test_what_a_run_below_is_writing_is_not_written_into_the_answer(modules: Page) -> None:
    frames = [{"type": "message", "message": one} for one in rolled()[:4]]
    live = [
        below("run-2", "run-1", 4),
        delta(0, "You ro", "run-2"),
        snapshot("You rolled 2", "run-2"),
        delta(0, "So: "),
    ]
    result = await applied(modules, state("in_progress"), *frames, *live)
    (turn,) = result["turns"]
    assert (turn["text"], turn["children"][0]["text"]) == ("So: ", "You rolled 2")


async def test_a_reload_at_any_moment_shows_the_tree_that_was_there_live(modules: Page) -> None:
    """Runs are told of before or after their messages, once or twice; what is stored is all that counts."""
    rng = random.Random(5)
    stored = deep(5)
    stored += [message(8 + n, "agent_output", f"Agent[x] says: {n}", f"run-{6 - n}", in_reply_to=0) for n in range(4)]
    for until in range(1, len(stored) + 1):
        runs = [
            state("in_progress", agent="a/1"),
            *(below(f"run-{n}", f"run-{n - 1}", n, agent=f"a/{n}") for n in (2, 3, 4, 5, 6)),
        ]
        known = {one["run"] for one in stored[:until]}
        told = [run for run in runs if run["run"] in known]
        frames = [{"type": "message", "message": one} for one in stored[:until]]
        for run in told * 2:
            frames.insert(rng.randint(0, len(frames)), run)
        live = await applied(modules, *frames)
        page = {"messages": stored[:until], "runs": told, "last_seq": until}
        reloaded = await applied(modules, start=page)
        assert [shape(turn) for turn in live["turns"]] == [shape(turn) for turn in reloaded["turns"]]
        assert len(live["turns"]) == 1


async def test_the_query_that_an_agent_asks_for_tells_where_its_question_belongs(modules: Page) -> None:
    frames = [{"type": "message", "message": one} for one in [*deep(2), message(5, "agent_output", "2", "run-2")]]
    result = await applied(modules, *frames)
    (turn,) = result["turns"]
    assert shape(turn)[5:] == ([("run-2", None, "", [], 5, [("run-3", None, "", [4], None, [])])],)
    assert turn["children"][0]["status"] is None


async def test_a_run_whose_asker_is_not_known_waits_until_earlier_messages_tell(modules: Page) -> None:
    """A query that was stopped has no answer: in the midst of it nothing is known of whom it was for."""
    child = {"messages": [asked_of(2, "run-2", "a/2", "roll")], "runs": [below("run-2", "run-1", 2, "canceled")]}
    result = await applied(modules, start={**child, "last_seq": 2})
    assert result["turns"] == []
    earlier = {"messages": [message(1, "query", "Go down")], "runs": [state("canceled")]}
    result = await applied(modules, start={**child, "last_seq": 2}, earlier=earlier)
    assert [shape(turn)[0] for turn in result["turns"][0]["children"]] == ["run-2"]


async def test_a_run_below_that_ended_unheard_is_settled_when_the_server_no_longer_names_it(modules: Page) -> None:
    frames = [{"type": "message", "message": one} for one in deep(2)]
    runs = [state("in_progress"), below("run-2", "run-1", 2), below("run-3", "run-2", 3)]
    result = await applied(modules, *frames, *runs, unfinished=["run-1"])
    child = result["turns"][0]["children"][0]
    assert (result["turns"][0]["status"], child["status"]) == ("in_progress", "canceled")
    again = await applied(modules, *frames, *runs, unfinished=["run-1"], after=runs[1:])
    assert again["turns"][0]["children"][0]["status"] == "in_progress"


async def test_nothing_goes_on_below_a_run_that_is_over(modules: Page) -> None:
    frames = [{"type": "message", "message": one} for one in deep(2)]
    runs = [state("in_progress"), below("run-2", "run-1", 2), below("run-3", "run-2", 3)]
    result = await applied(modules, *frames, *runs, state("canceled"))
    child = result["turns"][0]["children"][0]
    assert (child["status"], child["children"][0]["status"]) == ("canceled", "canceled")
    late = said(5, "agent_output", "Agent[a/2] says: half", "run-2")
    result = await applied(modules, *frames, *runs, state("canceled"), late, below("run-2", "run-1", 2, "canceled"))
    assert result["turns"][0]["children"][0]["answer"]["text"] == "Agent[a/2] says: half"


# What is seen of it


async def test_an_agent_that_was_asked_unfolds_to_its_steps_and_its_answer(page: Page, stage: Stage) -> None:
    stage.set(rolled(), ended())
    await opened(page, stage)
    await expect(page.locator(".prose")).to_have_text("There: 2, 5 and 6.")
    summary = page.locator(".steps > summary")
    await expect(summary).to_contain_text("asked fixie/dice")
    await summary.focus()
    await page.keyboard.press("Enter")
    child = page.locator("fixie-child")
    await expect(child).to_have_text("Asked fixie/dice roll 3d6 Done")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(child.locator(".step")).to_have_text(["Called roll 6 3 roll answered 2 5 6"])
    await expect(child.locator(".prose em")).to_have_text("2, 5 and 6")
    await expect(child.get_by_role("list", name="What fixie/dice did")).to_be_visible()


async def test_an_agent_below_is_watched_while_it_works_and_stays_unfolded(page: Page, stage: Stage) -> None:
    stage.set(rolled()[:4], [state("in_progress"), below("run-2", "run-1", 4)])
    connection = await opened(page, stage)
    await unfolded(page)
    child = page.locator("fixie-child")
    await expect(child).to_contain_text("Working…")
    await connection.send(delta(0, "You rolled", "run-2"))
    await expect(child.locator(".prose")).to_have_text("You rolled")
    await expect(page.locator(".reply .prose")).to_have_count(0)
    output = said(5, "agent_output", "Agent[fixie/dice] says: You rolled 2.", "run-2")
    await connection.send(output, below("run-2", "run-1", 4, "completed"))
    await expect(child.locator(".prose")).to_have_text("You rolled 2.")
    await expect(child).to_contain_text("Done")
    await connection.drop()
    await expect(child.locator(".prose")).to_have_text("You rolled 2.")


async def test_an_agent_that_fails_below_says_why_where_it_stands(page: Page, stage: Stage) -> None:
    messages = [*rolled()[:4], message(5, "error", "The dice are lost.", "run-2"), message(6, "response", "No dice.")]
    stage.set(messages, [state("completed"), below("run-2", "run-1", 4, "failed")])
    await opened(page, stage)
    await unfolded(page)
    await expect(page.locator("fixie-child .failure")).to_have_text("The dice are lost.")
    await expect(page.locator("fixie-child .state")).to_have_text("Failed")
    await expect(page.get_by_role("button", name="Retry")).to_have_count(0)


async def test_stopping_a_query_shows_all_that_worked_below_as_stopped(page: Page, stage: Stage) -> None:
    runs = [state("in_progress"), *(below(f"run-{n}", f"run-{n - 1}", n, agent=f"a/{n}") for n in (2, 3, 4))]
    stage.set(deep(3), runs)
    connection = await opened(page, stage)
    await unfolded(page)
    await expect(page.get_by_text("Working…")).to_have_count(4)
    await page.get_by_role("button", name="Stop").click()
    assert await connection.next() == {"type": "cancel", "run": "run-1"}
    await connection.send(state("canceled"), below("run-3", "run-2", 3, "canceled"))
    await expect(page.get_by_text("Stopped", exact=True)).to_have_count(4)
    await expect(page.get_by_text("Working…")).to_have_count(0)


@pytest.mark.parametrize("width", [320, 360, 768])
async def test_eight_agents_deep_is_still_no_wider_than_the_window(page: Page, stage: Stage, width: int) -> None:
    messages = [*deep(8), message(11, "func_call", "Ask Func[f]: " + "z" * 300, "run-9")]
    messages += [message(12, "agent_output", "Agent[x] says: " + "y" * 300, "run-9")]
    agents = {n: f"{'o' * 40}/{'a' * 40}-{n}" for n in range(2, 10)}
    runs = [state("in_progress"), *(below(f"run-{n}", f"run-{n - 1}", n, agent=agents[n]) for n in agents)]
    stage.set(messages, runs)
    await page.set_viewport_size({"width": width, "height": 700})
    await opened(page, stage)
    await unfolded(page)
    await expect(page.get_by_text("y" * 300)).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    # There is still room to read at the bottom of it.
    assert (await page.get_by_text("y" * 300).bounding_box() or {})["width"] > 150


async def test_nothing_jumps_while_agents_ask_agents(page: Page, stage: Stage) -> None:
    stage.set([message(1, "query", "roll 3d6")], [state("in_progress")])
    await page.set_viewport_size({"width": 360, "height": 700})
    connection = await opened(page, stage)
    await page.evaluate(
        """() => { globalThis.shift = 0; new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) globalThis.shift += entry.value;
        }).observe({type: "layout-shift"}); }"""
    )
    for one in rolled()[1:]:
        await connection.send({"type": "message", "message": one}, *ended()[1:])
        await page.wait_for_timeout(20)
    await connection.send(*ended())
    await expect(page.get_by_text("Working…")).to_have_count(0)
    assert await page.evaluate("shift") < 0.05


# What is stored


async def test_a_page_shows_the_same_tree_as_a_connection_that_has_missed_everything(
    at_home: Page, site: Site, me: Person
) -> None:
    handle = me.new_session()
    await run_db(store_tree, handle)
    url = f"{site.url}/sessions/{handle}"

    async def without_messages(route: Route) -> None:
        """The page as it would have been delivered before the query."""
        headers = await route.request.all_headers()
        async with httpx2.AsyncClient() as client:
            response = await client.get(url, headers={"cookie": headers["cookie"]})
        before = {"messages": [], "runs": [], "last_seq": 0}
        body = re.sub(
            r'(<script id="session-data"[^>]*>)(.*?)(</script>)',
            lambda found: f"{found[1]}{json.dumps({**json.loads(found[2]), **before})}{found[3]}",
            response.text,
        )
        await route.fulfill(status=200, body=body, headers={"content-type": "text/html; charset=utf-8"})

    texts = []
    for missing in (False, True):
        if missing:
            await at_home.route(url, without_messages)
        await at_home.goto(url)
        await expect(at_home.locator(".reply .prose")).to_have_text("A four.")
        await unfolded(at_home)
        texts.append(await at_home.locator(".turns").inner_text())
    assert texts[0] == texts[1]
    for words in ("flip", "It fell off the table.", "Failed", "shake", "Stopped", "4\n", "Done"):
        assert words in texts[0]


async def test_stopping_reaches_the_agent_below_and_a_reload_shows_what_was_seen(
    at_home: Page, site: Site, me: Person, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    gate = threading.Event()
    bottom = agent_of(me, held(gate))
    handle = me.new_session(agent_of(me, asks(site, bottom)))
    asked = at_home.locator(".steps > summary", has_text=bottom)
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await at_home.get_by_label("Message").fill("the way")
    await at_home.keyboard.press("Enter")
    for _ in range(2):
        await expect(asked).to_be_attached()
        await unfolded(at_home)
        await expect(at_home.locator("fixie-child .prose")).to_have_text("On the way")
        await expect(at_home.get_by_text("Working…")).to_have_count(2)
        await at_home.reload()
    await expect(at_home.locator(".connection")).to_have_text("Connected")
    await at_home.get_by_role("button", name="Stop").click()
    for _ in range(2):
        await expect(asked).to_be_attached()
        await unfolded(at_home)
        await expect(at_home.get_by_text("Stopped", exact=True)).to_have_count(2)
        await expect(at_home.get_by_text("Working…")).to_have_count(0)
        await expect(at_home.locator("fixie-child .prose")).to_have_text("On the way")
        await at_home.reload()
