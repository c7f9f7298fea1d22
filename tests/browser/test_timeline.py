"""The steps of an answer as a timeline: durations, arguments, outputs, progress, agents below, time and tokens."""

from typing import Any

from playwright.async_api import Page, expect

from tests.browser.scenes import unfolded
from tests.browser.stage import Frame, Stage, message, said, state
from tests.browser.test_chat import AgentOf
from tests.browser.test_conversation import asked
from tests.browser.test_socket import opened
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import lines
from tests.sites import Site


def at(seconds: float) -> str:
    return f"2025-01-01T00:00:{seconds:06.3f}+00:00"


def step(seq: int, kind: str, text: str, seconds: float, run: str = "run-1", **more: Any) -> Frame:
    return message(seq, kind, text, run, created=at(seconds), **more)


def over(seconds: float, **more: Any) -> Frame:
    times = {"created": at(0), "started": at(0), "finished": at(seconds)}
    return state("completed", agent="fixie/dice", parent=None, **times, **more)


def worked() -> list[Frame]:
    return [
        step(1, "query", "Tell me", 0),
        step(2, "thought", "Thought: weather, then", 0.5),
        step(3, "func_call", 'Ask Func[weather]: {"city": "Bonn", "days": [1, 2]}', 0.6),
        step(4, "func_output", "Func[weather] says: sunny", 2.4),
        step(5, "response", "Sunny.", 3, agent="fixie/dice"),
    ]


async def test_the_byline_says_how_long_it_took_and_what_it_used(page: Page, stage: Stage) -> None:
    stage.set(worked(), [over(3.2, tokens=1204)])
    await opened(page, stage)
    await expect(page.locator(".byline").first).to_have_text("fixie/dice 2 steps 3.2 s · 1,204 tokens")


async def test_each_step_says_how_long_it_took(page: Page, stage: Stage) -> None:
    stage.set(worked(), [over(3.2)])
    await opened(page, stage)
    await unfolded(page)
    await expect(page.locator(".step .time")).to_have_text(["0.5 s", "1.8 s"])


async def test_arguments_in_json_are_shown_in_lines(page: Page, stage: Stage) -> None:
    stage.set(worked(), [over(3.2)])
    await opened(page, stage)
    await unfolded(page)
    text = await page.locator(".step.func_call .text").first.inner_text()
    assert text.splitlines()[:3] == ["{", '  "city": "Bonn",', '  "days": [']


async def test_a_long_output_is_folded_and_copied_whole(page: Page, stage: Stage) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    long = "\n".join(f"line {n}" for n in range(300))
    messages = [*worked()[:3], step(4, "func_output", f"Func[weather] says: {long}", 2)]
    stage.set(messages, [over(3)])
    await opened(page, stage)
    await unfolded(page)
    output = page.locator("fixie-detail").last
    await expect(output).not_to_contain_text("line 299")
    await output.get_by_role("button", name="Copy").click()
    await expect(page.locator(".announcer")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == long
    more = output.get_by_role("button", name="Show all")
    await more.focus()
    await page.keyboard.press("Enter")
    await expect(output).to_contain_text("line 299")
    await expect(output.get_by_role("button", name="Show less")).to_be_focused()


async def test_calls_side_by_side_are_each_joined_with_their_answer(page: Page, stage: Stage) -> None:
    messages = [
        step(1, "query", "Both", 0),
        step(2, "func_call", "Ask Func[one]: a", 1),
        step(3, "func_call", "Ask Func[two]: b", 1),
        step(4, "func_output", "Func[one] says: A", 2),
        step(5, "func_output", "Func[two] says: B", 4),
        step(6, "func_output", "Func[three] says: C", 4.5),
    ]
    stage.set(messages, [over(5)])
    await opened(page, stage)
    await unfolded(page)
    await expect(page.locator(".step")).to_have_text(
        ["Called one 1.0 s a one answered A", "Called two 3.0 s b two answered B", "three answered 0.5 s C"]
    )


async def test_codes_of_terminals_are_taken_out_of_steps(page: Page, stage: Stage) -> None:
    noisy = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07and\x1b[2K plain\x08"
    stage.set([step(1, "query", "x", 0), step(2, "thought", f"Thought: {noisy}", 1)], [over(2)])
    await opened(page, stage)
    await unfolded(page)
    assert await page.locator(".step .text").inner_text() == "red and plain"


async def test_progress_is_a_bar_with_its_words(page: Page, stage: Stage) -> None:
    stage.set([step(1, "query", "x", 0), step(2, "thought", "Thought: 40 % reading", 1)], [over(2)])
    await opened(page, stage)
    await unfolded(page)
    await expect(page.locator(".step")).to_contain_text("Progress: 40%")
    assert await page.locator(".step progress").evaluate("(bar) => bar.value") == 40
    await expect(page.locator(".step .text")).to_have_text("reading")


async def test_an_agent_below_says_how_long_it_took(page: Page, stage: Stage) -> None:
    call = step(2, "agent_call", "Ask Agent[fixie/cup]: shake", 1, "run-2", in_reply_to=1)
    below = state("completed", "run-2", 2, agent="fixie/cup", parent="run-1", started=at(1), finished=at(2.5))
    stage.set([step(1, "query", "x", 0), call], [over(3), below])
    await opened(page, stage)
    await page.locator(".steps > summary").click()
    await expect(page.locator("fixie-child .time")).to_have_text("1.5 s")


async def test_the_present_step_counts_without_being_read_out(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    now: str = await page.evaluate("new Date(Date.now() - 65_000).toISOString()")
    await connection.send(state("in_progress", started=now))
    clock = page.locator(".byline fixie-clock")
    await expect(clock).to_contain_text("1 min 5 s")
    await expect(clock).to_have_attribute("aria-hidden", "true")
    await expect(page.locator(".announcer")).to_be_empty()


async def test_nothing_counts_for_who_wants_no_motion(page: Page, stage: Stage) -> None:
    await page.emulate_media(reduced_motion="reduce")
    connection = await asked(page, stage)
    await connection.send(state("in_progress", started=at(0)), said(2, "func_call", "Ask Func[f]: 1"))
    await expect(page.locator(".byline")).to_contain_text("1 step")
    await expect(page.locator(".byline fixie-clock")).to_have_text("")
    await expect(page.get_by_text("Working…")).to_be_visible()


async def test_the_site_tells_when_a_run_began_and_ended(
    at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    handle = me.new_session(agent_of(me, lines(*("word " for _ in range(8)), delay=0.05)))
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await expect(at_home.locator(".connection")).to_have_text("Connected")
    await at_home.get_by_label("Message").fill("go")
    await at_home.keyboard.press("Enter")
    time = at_home.locator(".byline span.time")
    await expect(time).to_be_visible()
    live = await time.inner_text()
    await at_home.reload()
    assert await time.inner_text() == live
    (run,) = me.http.get(f"/api/sessions/{handle}/messages").json()["runs"]
    assert run["created"] <= run["finished"]
    assert run["started"] <= run["finished"]
