"""The chat's connection through every kind of trouble, over a real socket: `static/js/session-socket.js`."""

import asyncio
import random

from playwright.async_api import Page, expect

from tests.browser.stage import Connection, Stage, delta, message, said, snapshot, state, synced
from tests.browser.test_transcript import TEXT


async def opened(page: Page, stage: Stage, *, within: float = 5_000) -> Connection:
    """A page whose socket has caught up, and has said so `within` so many milliseconds."""
    await page.goto(stage.url)
    connection = await stage.connection()
    unfinished = [run for run in stage.data["runs"] if run["status"] in ("queued", "in_progress")]
    await connection.send(*unfinished, synced(connection.since))
    await expect(page.get_by_role("status")).to_have_text("Connected", timeout=within)
    return connection


async def write(page: Page, text: str) -> None:
    await page.get_by_label("Message").fill(text)
    await page.keyboard.press("Enter")


async def reconnected(page: Page, stage: Stage) -> Connection:
    """The next connection: at once, as when the network is back, instead of after the pause."""
    await expect(page.get_by_role("status")).not_to_have_text("Connected")
    await page.evaluate("dispatchEvent(new Event('online'))")
    return await stage.connection()


async def test_a_reconnected_page_asks_for_what_it_has_not_seen(page: Page, stage: Stage) -> None:
    stage.set([message(1, "query", "Hi"), message(2, "response", "Hello")])
    first = await opened(page, stage)
    assert first.since == 2
    await first.send(said(3, "query", "Again", "run-2"))
    await expect(page.get_by_text("Again")).to_be_visible()
    await first.drop()
    assert (await reconnected(page, stage)).since == 3


async def test_a_lost_connection_comes_back_by_itself(page: Page, stage: Stage) -> None:
    stage.set()
    await (await opened(page, stage)).drop()
    await expect(page.get_by_role("status")).to_have_text("Connection lost. Trying again…")
    again = await stage.connection()
    await again.send(synced(0))
    await expect(page.get_by_role("status")).to_have_text("Connected")


async def test_a_message_written_while_there_is_no_connection_is_sent_once_later(page: Page, stage: Stage) -> None:
    stage.set()
    await (await opened(page, stage)).drop()
    await expect(page.get_by_role("status")).not_to_have_text("Connected")
    await write(page, "Are you there?")
    await expect(page.get_by_text("Sending…")).to_be_visible()
    again = await reconnected(page, stage)
    await again.send(synced(0))
    sent = await again.next()
    assert (sent["type"], sent["text"], sent["if_busy"]) == ("message", "Are you there?", "enqueue")
    await again.send(said(1, "query", sent["text"], client_id=sent["client_id"]))
    await expect(page.get_by_text("Sending…")).to_have_count(0)
    await expect(page.get_by_text("Are you there?")).to_have_count(1)


async def test_a_message_whose_confirmation_was_lost_is_repeated_under_the_same_id(page: Page, stage: Stage) -> None:
    stage.set()
    first = await opened(page, stage)
    await write(page, "Once")
    sent = await first.next()
    await first.drop()
    again = await reconnected(page, stage)
    # The server had stored it: the replay brings it without the id, the repetition is answered with it.
    await again.send(said(1, "query", "Once"), state("in_progress"), synced(1))
    assert await again.next() == sent
    await again.send(said(1, "query", "Once", client_id=sent["client_id"]))
    await expect(page.get_by_text("Sending…")).to_have_count(0)
    await expect(page.get_by_text("Once")).to_have_count(1)


async def test_an_unsent_message_survives_a_reload(page: Page, stage: Stage) -> None:
    stage.set()
    first = await opened(page, stage)
    await write(page, "Keep me")
    sent = await first.next()
    await page.reload()
    again = await stage.connection()
    await again.send(synced(0))
    assert await again.next() == sent


async def test_a_refused_message_stays_with_the_reason_and_can_be_sent_again(page: Page, stage: Stage) -> None:
    stage.set()
    connection = await opened(page, stage)
    await write(page, "Too much")
    sent = await connection.next()
    words = "Today's 1000 queries are used up."
    await connection.send(
        {"type": "error", "code": "quota_exceeded", "message": words, "details": {}, "client_id": sent["client_id"]}
    )
    await expect(page.get_by_role("alert")).to_contain_text("Your queries are used up for today")
    await page.get_by_role("button", name="Try again").click()
    assert await connection.next() == sent


async def test_a_refused_message_can_be_taken_back_into_the_composer(page: Page, stage: Stage) -> None:
    stage.set()
    connection = await opened(page, stage)
    await write(page, "Too much")
    sent = await connection.next()
    await page.get_by_label("Message").fill("more")
    await connection.send({"type": "error", "code": "x", "message": "No.", "client_id": sent["client_id"]})
    await page.get_by_role("button", name="Edit").click()
    await expect(page.get_by_label("Message")).to_have_value("Too much\nmore")


async def test_a_gap_is_asked_for_once_and_closed_by_the_snapshot(page: Page, stage: Stage) -> None:
    stage.set()
    connection = await opened(page, stage)
    await connection.send(said(1, "query", "Hi"), state("in_progress"), delta(0, "One "))
    await connection.send(delta(8, "three "), delta(14, "four "), delta(19, "five"))
    assert await connection.next() == {"type": "sync", "since": 1}
    await connection.send(state("in_progress"), snapshot("One two three four five"), synced(1))
    await connection.send(delta(23, " six"))
    await expect(page.locator(".prose")).to_have_text("One two three four five six")
    await asyncio.sleep(1.2)
    assert connection.received.empty()


async def test_a_sync_that_goes_unanswered_is_asked_again(page: Page, stage: Stage) -> None:
    stage.set()
    connection = await opened(page, stage)
    await connection.send(said(2, "response", "lost its query"))
    assert [await connection.next(), await connection.next()] == [{"type": "sync", "since": 0}] * 2


async def test_a_dead_connection_is_noticed_when_the_network_is_back(page: Page, stage: Stage) -> None:
    stage.set()
    first = await opened(page, stage)
    await page.evaluate("dispatchEvent(new Event('online'))")
    assert await first.next() == {"type": "sync", "since": 0}
    # No answer comes: the page opens another connection instead.
    assert (await stage.connection()).since == 0


async def test_a_session_that_is_gone_is_said_and_not_asked_for_again(page: Page, stage: Stage) -> None:
    stage.set()
    connection = await opened(page, stage)
    await page.get_by_label("Message").fill("Not lost")
    await connection.drop(4404)
    await expect(page.get_by_role("status")).to_have_text("This session no longer exists.")
    await page.keyboard.press("Enter")
    await expect(page.get_by_label("Message")).to_have_value("Not lost")
    await page.evaluate("dispatchEvent(new Event('online'))")
    await asyncio.sleep(0.3)
    assert stage.connections.empty()


async def test_sixty_broken_connections_while_text_streams_lose_and_double_nothing(page: Page, stage: Stage) -> None:
    """The stage drops the socket at random places; each new one gets what the wire promises, and no more."""
    stage.set()
    rng = random.Random(3)
    text = " ".join([TEXT] * 12)
    connection = await opened(page, stage)
    await connection.send(said(1, "query", "Tell me"), state("in_progress"))
    at = drops = 0
    while drops < 60:
        at = await _stream_some(connection, text, at, rng)
        await connection.drop()
        connection = await reconnected(page, stage)
        drops += 1
        at = min(len(text), at + rng.randint(0, 5))  # written while nobody listened
        await connection.send(state("in_progress"), snapshot(text[:at]), synced(1))
        await expect(page.get_by_role("status")).to_have_text("Connected")
    await connection.send(*(delta(place, text[place : place + 50]) for place in range(at, len(text), 50)))
    shown = "[...document.querySelectorAll('fixie-turn')].at(-1).turn.text"
    await page.wait_for_function(f"{shown}.length >= {len(text.encode('utf-16-le')) // 2}")
    assert await page.evaluate(shown) == text
    await connection.send(said(2, "response", text), state("completed"))
    await expect(page.get_by_text("Working…")).to_have_count(0)
    await expect(page.locator("fixie-message")).to_have_count(1)


async def _stream_some(connection: Connection, text: str, at: int, rng: random.Random) -> int:
    for _ in range(rng.randint(0, 3)):
        size = rng.randint(1, 4)
        await connection.send(delta(at, text[at : at + size]))
        at = min(len(text), at + size)
    return at
