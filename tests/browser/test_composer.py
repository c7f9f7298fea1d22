"""The composer: sending, waiting, interrupting, editing an earlier question, drafts, and limits told in time."""

from typing import Any

from playwright.async_api import BrowserContext, Page, Route, expect

from tests.browser.stage import Connection, Stage, message, said, state
from tests.browser.test_socket import opened, write

RESET = "2099-01-01T00:00:00Z"


def quota(remaining: int | None, *, limit: int = 100, credits: int = 0, tokens: int | None = None) -> dict[str, Any]:
    room = {"limit": limit, "used": 0, "remaining": remaining, "reset": RESET}
    return {"queries": room, "tokens": {**room, "remaining": tokens}, "credits": credits}


async def answering(page: Page, stage: Stage, **scene: Any) -> Connection:
    """A page where a question is being answered."""
    stage.set([message(1, "query", "Tell me")], [state("in_progress")], **scene)
    return await opened(page, stage)


async def test_what_is_sent_meanwhile_waits_unless_it_is_asked_now(page: Page, stage: Stage) -> None:
    connection = await answering(page, stage)
    hint = page.locator("#composer-hint")
    await expect(hint).to_contain_text("stops")
    await page.get_by_label("Message").fill("one")
    await expect(hint).to_contain_text("Will be asked when this answer is done")
    await page.keyboard.press("Enter")
    assert (await connection.next())["if_busy"] == "enqueue"
    await page.get_by_label("Message").fill("two")
    await page.keyboard.press("Control+Shift+Enter")
    assert (await connection.next())["if_busy"] == "interrupt"
    await page.get_by_label("Message").fill("three")
    await page.get_by_role("button", name="Ask now").click()
    assert (await connection.next())["if_busy"] == "interrupt"
    await expect(page.get_by_label("Message")).to_be_focused()
    await connection.send(said(2, "response", "So"), state("completed"))
    await expect(page.get_by_role("button", name="Stop")).to_have_count(0)


async def test_a_question_that_waits_can_be_taken_back(page: Page, stage: Stage) -> None:
    connection = await answering(page, stage)
    await connection.send(said(2, "query", "next", "run-2"), state("queued", "run-2", 2))
    await page.get_by_role("button", name="Withdraw").click()
    assert await connection.next() == {"type": "cancel", "run": "run-2"}


async def test_control_enter_sends_and_the_arrow_up_edits_the_last_question(page: Page, stage: Stage) -> None:
    stage.set([message(1, "query", "Tell me"), message(2, "response", "So")], [state("completed")])
    connection = await opened(page, stage)
    await page.get_by_label("Message").fill("again")
    await page.keyboard.press("Control+Enter")
    assert (await connection.next())["text"] == "again"
    await page.keyboard.press("ArrowUp")
    await expect(page.get_by_label("Message")).to_have_value("Tell me")
    await expect(page.get_by_text("Editing an earlier question")).to_be_visible()


async def test_leaving_an_edit_gives_back_what_was_being_written_and_stops_nothing(page: Page, stage: Stage) -> None:
    connection = await answering(page, stage)
    await page.get_by_label("Message").fill("half a thou")
    await page.evaluate("document.querySelector('fixie-composer').edit({seq: 1, text: 'Tell me', embeds: {}})")
    await expect(page.get_by_label("Message")).to_have_value("Tell me")
    await page.keyboard.type(" all")
    await page.reload()
    await expect(page.get_by_label("Message")).to_have_value("half a thou")
    connection = await stage.connection()
    await page.evaluate("document.querySelector('fixie-composer').edit({seq: 1, text: 'Tell me', embeds: {}})")
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Message")).to_have_value("half a thou")
    await expect(page.get_by_label("Message")).to_be_focused()
    assert connection.received.empty()


async def test_a_changed_question_is_sent_as_a_branch_and_stays_written_where_that_fails(
    page: Page, stage: Stage
) -> None:
    await answering(page, stage)
    sent: list[Any] = []

    async def refuse(route: Route) -> None:
        sent.append(route.request.post_data_json)
        await route.fulfill(status=503, json={"error": {"code": "internal", "message": "Away.", "details": {}}})

    await page.route("**/branches", refuse)
    await page.evaluate("document.querySelector('fixie-composer').edit({seq: 1, text: 'Tell me', embeds: {}})")
    await page.keyboard.type(" all")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).not_to_be_empty()
    await expect(page.get_by_label("Message")).to_have_value("Tell me all")
    (first,) = sent
    assert first == {"seq": 1, "text": "Tell me all", "embeds": {}, "client_id": first["client_id"]}


async def test_a_draft_outlives_its_tab_and_no_other_tab_takes_it_away(
    context: BrowserContext, page: Page, stage: Stage
) -> None:
    stage.set()
    await opened(page, stage)
    other = await context.new_page()
    await opened(other, stage)
    await page.get_by_label("Message").fill("kept")
    # It held nothing, and now holds nothing again: that is no reason to remove what the first one wrote.
    await other.get_by_label("Message").fill("x")
    await page.get_by_label("Message").fill("kept!")
    await other.get_by_label("Message").fill("")
    await page.close()
    third = await context.new_page()
    connection = await opened(third, stage)
    await expect(third.get_by_label("Message")).to_have_value("kept!")
    await third.keyboard.press("Enter")
    await connection.next()
    assert await third.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('fixie:draft:'))") == []


async def test_a_draft_that_another_tab_has_sent_is_gone_here_too(
    context: BrowserContext, page: Page, stage: Stage
) -> None:
    stage.set()
    await opened(page, stage)
    await page.get_by_label("Message").fill("once")
    other = await context.new_page()
    await opened(other, stage)
    await expect(other.get_by_label("Message")).to_have_value("once")
    await other.keyboard.press("Enter")
    await expect(page.get_by_label("Message")).to_have_value("")


async def test_the_field_grows_with_its_text_up_to_two_fifths_of_the_window(page: Page, stage: Stage) -> None:
    stage.set()
    await opened(page, stage)
    heights = []
    for lines in (1, 3, 100):
        await page.get_by_label("Message").fill("line\n" * lines)
        heights.append((await page.get_by_label("Message").bounding_box() or {})["height"])
    assert heights[0] < heights[1] < heights[2] <= 0.4 * 700 + 1


async def test_the_length_is_told_from_four_fifths_of_the_limit_on(page: Page, stage: Stage) -> None:
    stage.set(message_max_bytes=100)
    await opened(page, stage)
    hint = page.locator("#composer-hint")
    await page.get_by_label("Message").fill("a" * 79)
    await expect(hint).to_contain_text("sends")
    await page.get_by_label("Message").fill("a" * 81)
    await expect(hint).to_have_text("About 19 characters left")
    await page.get_by_label("Message").fill("ü" * 55)
    await expect(hint.get_by_role("alert")).to_have_text("Too long by about 5 characters.")


async def test_what_is_left_of_the_day_is_told_before_it_runs_out_and_counted_down(page: Page, stage: Stage) -> None:
    stage.set(quota=quota(20))
    await opened(page, stage)
    told = page.locator("#composer-quota")
    await expect(told).to_be_empty()
    await write(page, "one")
    await expect(told).to_contain_text("19 questions left until")


async def test_a_used_up_quota_keeps_the_text_until_there_is_more(page: Page, stage: Stage) -> None:
    stage.set(quota=quota(0))
    connection = await opened(page, stage)
    left = quota(0)

    async def tell(route: Route) -> None:
        await route.fulfill(json=left)

    await page.route("**/api/users/me/quota", tell)
    told = page.locator("#composer-quota")
    await write(page, "Please")
    await expect(told).to_contain_text("Today's questions are used up")
    await expect(page.get_by_label("Message")).to_have_value("Please")
    assert connection.received.empty()
    left["credits"] = 2
    await page.keyboard.press("Enter")
    assert (await connection.next())["text"] == "Please"
    await expect(told).to_contain_text("you have 1 credit")


async def test_a_refusal_of_the_site_has_the_quota_read_again(page: Page, stage: Stage) -> None:
    stage.set(quota=quota(50))
    connection = await opened(page, stage)
    await page.route("**/api/users/me/quota", lambda route: route.fulfill(json=quota(None, tokens=0)))
    await write(page, "Please")
    sent = await connection.next()
    details = {"which": "tokens", "used": 1, "limit": 1, "resets_at": RESET, "retry_after": 1}
    refusal = {"code": "quota_exceeded", "message": "Used up.", "details": details, "retryable": True}
    await connection.send({"type": "error", "client_id": sent["client_id"], **refusal})
    await expect(page.locator("#composer-quota")).to_contain_text("Today's share of language models is used up")
