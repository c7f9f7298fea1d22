"""The conversation as a person meets it: reading while it streams, writing, stopping, hearing it."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.stage import Connection, Stage, delta, message, said, state, synced
from tests.browser.test_socket import opened, write

ANSWER = "First paragraph with **bold** words.\n\n- one\n- two\n\n```python\nx = 1\n```\n\nThe end of it."
AT_END = "document.documentElement.scrollHeight - innerHeight - scrollY < 2"


async def asked(page: Page, stage: Stage, **scene: Any) -> Connection:
    """A page with one query in progress."""
    stage.set([message(1, "query", "Tell me")], [state("in_progress")], **scene)
    return await opened(page, stage)


async def stream(connection: Connection, text: str, start: int = 0, size: int = 6) -> None:
    for at in range(start, len(text), size):
        await connection.send(delta(at, text[at : at + size]))


def long_history(count: int) -> list[dict[str, Any]]:
    return [
        message(
            seq,
            "query" if seq % 2 else "response",
            f"Message {seq}. " * 12,
            f"run-{(seq + 1) // 2}",
            in_reply_to=seq - 1,
        )
        for seq in range(1, count + 1)
    ]


async def test_finished_blocks_stay_the_same_nodes_while_text_streams(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    await stream(connection, ANSWER[:60])
    first = page.locator(".prose > p").first
    await expect(first).to_have_text("First paragraph with bold words.")
    await first.evaluate("(node) => { node.marked = true; }")
    await stream(connection, ANSWER, 60)
    await connection.send(said(2, "response", ANSWER), state("completed"))
    await expect(page.locator(".prose > p").last).to_have_text("The end of it.")
    assert await first.evaluate("(node) => node.marked")
    await expect(page.locator("code.language-python .hljs-number")).to_have_text("1")


async def test_nothing_on_the_page_jumps_while_an_answer_streams(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    await page.evaluate(
        """() => { globalThis.shift = 0; new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) globalThis.shift += entry.value;
        }).observe({type: "layout-shift"}); }"""
    )
    await connection.send(said(2, "func_call", "Ask Func[f]: 1"), said(3, "func_output", "Func[f] says: 2"))
    for at in range(0, 2000, 20):
        text = (ANSWER * 20)[at : at + 20]
        await connection.send(delta(at, text))
        await page.wait_for_timeout(5)
    await connection.send(said(4, "response", (ANSWER * 20)[:2000]), state("completed"))
    await expect(page.get_by_text("Working…")).to_have_count(0)
    assert await page.evaluate("shift") < 0.05


async def test_a_reader_at_the_end_stays_there_and_one_who_went_up_is_left_alone(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    text = "A line of the answer.\n\n" * 80
    await stream(connection, text[:1000], size=50)
    await expect(page.locator(".prose > p").nth(40)).to_be_attached()
    assert await page.evaluate(AT_END)
    await page.mouse.wheel(0, -300)
    latest = page.get_by_role("button", name="Latest")
    await expect(latest).to_be_visible()
    place = await page.evaluate("scrollY")
    await stream(connection, text, 1000, size=50)
    await expect(page.locator(".prose > p").nth(79)).to_be_attached()
    assert await page.evaluate("scrollY") == place
    await latest.click()
    await expect(latest).to_have_count(0)
    assert await page.evaluate(AT_END)


async def test_earlier_messages_come_by_themselves_and_leave_the_reader_in_place(page: Page, stage: Stage) -> None:
    history = long_history(500)
    stage.set(history[-200:], stored=history[:-200])
    await opened(page, stage)
    assert await page.locator("fixie-turn").count() == 100
    await page.evaluate("scrollTo(0, 1300)")
    shown = page.get_by_text("Message 315.").first
    await page.wait_for_timeout(100)
    before = (await shown.bounding_box() or {})["y"]
    await page.evaluate("scrollBy(0, -200)")
    await expect(page.locator("fixie-turn")).to_have_count(150)
    await page.wait_for_timeout(100)
    after = (await shown.bounding_box() or {})["y"]
    assert after == pytest.approx(before + 200, abs=4)
    for turns in (200, 250):
        await page.evaluate("scrollTo(0, 0)")
        await expect(page.locator("fixie-turn")).to_have_count(turns)
    await expect(page.get_by_role("button", name="Show earlier messages")).to_have_count(0)
    await expect(page.get_by_text("Working…")).to_have_count(0)
    await expect(page.get_by_text("Waiting for its turn…")).to_have_count(0)


async def test_a_screen_reader_is_told_the_answer_once_when_it_is_whole(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    await page.evaluate(
        """() => { globalThis.told = []; const region = document.querySelector(".announcer");
            new MutationObserver(() => told.push(region.textContent)).observe(region, {childList: true}); }"""
    )
    await stream(connection, ANSWER)
    whole = [said(2, "response", ANSWER, agent="fixie/dice"), state("completed", agent="fixie/dice")]
    await connection.send(*whole, *whole, synced(2))
    await expect(page.locator(".announcer")).to_contain_text("The end of it.")
    told = await page.evaluate("told")
    assert len(told) == 1
    assert told[0].startswith("fixie/dice: First paragraph with bold words.")


async def test_history_is_not_read_out_when_the_page_opens(page: Page, stage: Stage) -> None:
    stage.set([message(1, "query", "Hi"), message(2, "response", "Hello")], [state("completed")])
    await opened(page, stage)
    await expect(page.locator(".announcer")).to_be_empty()


async def test_enter_sends_and_shift_enter_begins_a_line(page: Page, stage: Stage) -> None:
    stage.set()
    connection = await opened(page, stage)
    box = page.get_by_label("Message")
    await expect(box).to_be_focused()
    await page.keyboard.type("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await page.keyboard.press("Enter")
    assert (await connection.next())["text"] == "one\ntwo"
    await expect(box).to_have_value("")
    await expect(box).to_be_focused()


async def test_enter_that_ends_a_composed_word_sends_nothing(page: Page, stage: Stage) -> None:
    stage.set()
    connection = await opened(page, stage)
    box = page.get_by_label("Message")
    await box.fill("にほん")
    await box.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})
    await expect(box).to_have_value("にほん")
    assert connection.received.empty()


async def test_blank_and_too_long_texts_stay_in_the_composer(page: Page, stage: Stage) -> None:
    stage.set(message_max_bytes=64)
    connection = await opened(page, stage)
    for text in ("  \n ", "ü" * 33):
        await write(page, text)
        await expect(page.get_by_label("Message")).to_have_value(text)
    await expect(page.get_by_role("alert")).to_contain_text("Too long")
    assert connection.received.empty()
    await write(page, "ü" * 32)
    assert (await connection.next())["text"] == "ü" * 32


async def test_what_is_being_written_survives_a_reload(page: Page, stage: Stage) -> None:
    stage.set()
    await opened(page, stage)
    await page.get_by_label("Message").fill("half a thou")
    await page.reload()
    await expect(page.get_by_label("Message")).to_have_value("half a thou")


async def test_escape_and_the_stop_button_cancel_the_run_at_work(page: Page, stage: Stage) -> None:
    for press in (lambda: page.keyboard.press("Escape"), lambda: page.get_by_role("button", name="Stop").click()):
        connection = await asked(page, stage)
        await connection.send(said(2, "query", "next", "run-2"), state("queued", "run-2", 2))
        await stream(connection, "Once upon a")
        await expect(page.locator(".prose")).to_have_text("Once upon a")
        await press()
        assert await connection.next() == {"type": "cancel", "run": "run-1"}
        await expect(page.get_by_role("button", name="Stopping…")).to_be_visible()
        await connection.send(said(3, "response", "Once upon a"), state("canceled"))
        await expect(page.locator("fixie-turn").first).to_contain_text("Stopped")
        await expect(page.locator(".prose").first).to_have_text("Once upon a")
        await expect(page.locator("fixie-turn").last).to_contain_text("Waiting for its turn…")
        await expect(page.get_by_label("Message")).to_be_focused()


async def test_a_failed_run_says_why_and_a_retry_asks_again(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    failure = {"code": "agent_unreachable", "message": "The agent could not be reached.", "retryable": True}
    await connection.send(said(2, "error", "The agent could not be reached."), state("failed", error=failure))
    await expect(page.locator(".failure")).to_contain_text("The agent could not be reached.")
    await page.get_by_role("button", name="Retry").click()
    assert (await connection.next())["text"] == "Tell me"


async def test_steps_are_folded_and_unfold_to_what_was_called_and_answered(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    await connection.send(said(2, "thought", "Thought: dice, then"), said(3, "func_call", "Ask Func[roll]: 8 3"))
    await connection.send(said(4, "func_output", "Func[roll] says: 5 3 8"))
    await expect(page.get_by_text("5 3 8")).to_have_count(0)
    summary = page.locator("summary")
    await expect(summary).to_contain_text("2 steps")
    await summary.focus()
    await page.keyboard.press("Enter")
    await connection.send(said(5, "func_call", "no known words"), said(6, "response", "5, 3 and 8"))
    await expect(page.locator(".step")).to_have_text(
        ["Thought dice, then", "Called roll 8 3 roll answered 5 3 8", "Called a function no known words"]
    )
    await expect(page.get_by_text("5 3 8")).to_be_visible()


async def test_a_question_is_shown_as_it_was_written(page: Page, stage: Stage) -> None:
    text = "<b>not bold</b> *nor this*\n  indented"
    stage.set([message(1, "query", text)], [state("canceled")])
    await opened(page, stage)
    assert await page.locator(".query p").inner_text() == text


@pytest.mark.parametrize("width", [320, 360, 768, 1440])
async def test_nothing_is_wider_than_the_window(page: Page, stage: Stage, width: int) -> None:
    wide = "x" * 400 + "\n\n```\n" + "y" * 400 + "\n```\n\n|" + "a|" * 40 + "\n|" + "---|" * 40 + "\n|" + "b|" * 40
    steps = [message(2, "func_call", "Ask Func[f]: " + "z" * 400), message(3, "response", wide)]
    stage.set([message(1, "query", "w" * 400), *steps], [state("completed", agent=f"{'o' * 50}/{'a' * 50}")])
    await page.set_viewport_size({"width": width, "height": 700})
    await opened(page, stage)
    await page.locator("summary").click()
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
