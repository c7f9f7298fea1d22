"""What the chat may cost: scripts, moving layout, memory of long sessions, and the time until it can be used."""

import statistics
import threading
import time

from playwright.async_api import Browser, Page, expect

from tests.browser.conftest import sign_in
from tests.browser.measuring import COUNT_SHIFTS, Scripts, nodes_of, renderer_memory, scrolled_back
from tests.browser.stage import Frame, Stage, delta, message, said, state, synced
from tests.browser.test_chat import AgentOf
from tests.browser.test_socket import opened
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import held, lines
from tests.sites import Site

SCRIPT_BYTES = 180 * 1024
SHIFT = 0.05
MEMORY = 150 * 2**20
NODES_A_TURN = 250
BYTES_A_TURN = 250_000
MESSAGES = 2000
# On a quiet machine it takes half of a second; tests run beside others.
SECONDS = 4.0
ANSWER = """Here is **an answer** with `code`.

- one
- two

```python
x = 1
```

| a | b |
|---|---|
| 1 | 2 |

See [the page](https://example.com/page), $x_1$, and ![this](https://example.com/x.png).

1. First
2. Second

> Quoted, and the end of it.
"""


async def test_an_answer_with_code_needs_less_than_180_kb_of_scripts(
    at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    handle = me.new_session(agent_of(me, lines(ANSWER)))
    me.post(handle, "Go")
    me.settled(handle)
    scripts = Scripts(at_home)
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await expect(at_home.locator("code.highlighted")).to_be_visible()
    await at_home.wait_for_load_state("networkidle")
    sizes = await scripts.sizes()
    assert any(path.endswith("highlight.js") for path in sizes)
    assert sum(sizes.values()) < SCRIPT_BYTES, sorted(sizes.items(), key=lambda item: -item[1])[:12]


async def test_an_answer_that_streams_moves_nothing_on_the_whole_page(
    at_home: Page, site: Site, me: Person, agent_of: AgentOf
) -> None:
    """With the sidebar, the title and the composer of the site's own page."""
    text = ANSWER * 4
    words = [text[: at + 25] for at in range(0, len(text), 25)]
    handle = me.new_session(agent_of(me, lines(*words, delay=0.01)))
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await expect(at_home.locator(".connection")).to_have_text("Connected")
    await at_home.evaluate(COUNT_SHIFTS)
    await at_home.evaluate("globalThis.shift = 0")
    await at_home.get_by_label("Message").fill("Go")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".state.in_progress")).to_have_count(0, timeout=20_000)
    await expect(at_home.locator(".prose blockquote")).to_have_count(4)
    await at_home.wait_for_timeout(300)
    assert await at_home.evaluate("shift") < SHIFT


async def test_a_narrow_page_moves_no_more(page: Page, stage: Stage) -> None:
    await page.set_viewport_size({"width": 360, "height": 640})
    stage.set([message(1, "query", "Tell me")], [state("in_progress")])
    connection = await opened(page, stage)
    await page.evaluate(COUNT_SHIFTS)
    for at in range(0, len(ANSWER), 9):
        await connection.send(delta(at, ANSWER[at : at + 9]))
        await page.wait_for_timeout(4)
    await connection.send(said(2, "response", ANSWER), state("completed"))
    await expect(page.locator("code.highlighted")).to_be_visible()
    await page.wait_for_timeout(200)
    assert await page.evaluate("shift") < SHIFT


def long_session(count: int) -> list[Frame]:
    return [
        message(
            seq,
            "query" if seq % 2 else "response",
            f"Question {seq}?" if seq % 2 else f"Answer {seq}. {ANSWER}",
            f"run-{(seq + 1) // 2}",
            in_reply_to=None if seq % 2 else seq - 1,
        )
        for seq in range(1, count + 1)
    ]


async def test_two_thousand_messages_stay_small_and_every_one_can_be_reached(
    browser: Browser, page: Page, stage: Stage
) -> None:
    history = long_session(MESSAGES)
    stage.set(history[-50:], stored=history[:-50])
    await page.goto(f"{stage.url}#m-1")
    await (await stage.connection()).send(synced(MESSAGES))
    await expect(page.locator("#m-1")).to_be_in_viewport(timeout=60_000)
    await expect(page.locator("fixie-turn")).to_have_count(MESSAGES // 2)
    # Somebody leafs through some of it.
    for _ in range(12):
        await page.mouse.wheel(0, 2500)
        await page.wait_for_timeout(20)
    assert await nodes_of(page) < NODES_A_TURN * MESSAGES / 2
    assert await renderer_memory(browser, page) < MEMORY


async def test_who_scrolls_back_is_never_thrown_off_and_leaves_no_memory_behind(
    browser: Browser, page: Page, stage: Stage
) -> None:
    history = long_session(240)
    stage.set(history[-50:], stored=history[:-50])
    connection = await opened(page, stage)
    await connection.send(synced(240))
    before = await renderer_memory(browser, page)
    seen = await scrolled_back(page, seconds=60)
    assert seen.reached
    assert seen.jumps == []
    # Timed by a machine that does other things: a page that stands still would take most of it.
    assert seen.late < 0.9
    # What was seen has given up its layout, and is as near the window as ever.
    await page.wait_for_timeout(3000)
    assert await renderer_memory(browser, page) - before < 120 * BYTES_A_TURN
    await expect(page.locator("#m-1")).to_be_in_viewport()


async def test_what_is_out_of_sight_can_be_searched_as_it_reads(page: Page, stage: Stage) -> None:
    history = long_session(60)
    stage.set(history[-10:], stored=history[:-10])
    connection = await opened(page, stage)
    await connection.send(synced(60))
    await page.evaluate("scrollTo(0, 0)")
    await expect(page.locator("fixie-turn")).to_have_count(30)
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    # Drawn where nobody looks, as soon as there is time.
    await expect(page.locator(".prose > p:first-child > strong")).to_have_count(30)
    first = page.locator("#m-2 .prose")
    assert not await first.evaluate("(prose) => prose.checkVisibility({ contentVisibilityAuto: true })")
    await expect(first).to_contain_text("Answer 2. Here is an answer with code.")


async def test_all_that_is_loaded_is_printed_as_it_reads(page: Page, stage: Stage) -> None:
    history = long_session(60)
    stage.set(history[-10:], stored=history[:-10])
    connection = await opened(page, stage)
    await connection.send(synced(60))
    # No time for anything but what is asked for.
    await page.evaluate("window.requestIdleCallback = () => 0")
    await page.evaluate("scrollTo(0, 0)")
    await expect(page.locator("fixie-turn")).to_have_count(30)
    await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    await page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert await page.locator(".prose > p:first-child > strong").count() == 30
    await page.emulate_media(media="print")
    await expect(page.locator(".dock")).to_be_hidden()
    assert await page.locator("fixie-turn .prose").first.evaluate("(prose) => prose.checkVisibility()")


async def test_the_chat_is_usable_soon(browser: Browser, site: Site, me: Person, agent_of: AgentOf) -> None:
    """With an empty cache each time; the median, because the machine has more to do."""
    gate = threading.Event()
    gate.set()
    handle = me.new_session(agent_of(me, held(gate)))
    me.post(handle, "Go")
    me.settled(handle)
    took = []
    for _ in range(3):
        context = await browser.new_context()
        await sign_in(context, site, me)
        page = await context.new_page()
        began = time.monotonic()
        await page.goto(f"{site.url}/sessions/{handle}", wait_until="commit")
        await expect(page.locator(".connection")).to_have_text("Connected", timeout=20_000)
        await expect(page.get_by_label("Message")).to_be_focused()
        took.append(time.monotonic() - began)
        await context.close()
    assert statistics.median(took) < SECONDS
