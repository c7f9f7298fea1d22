"""What the chat costs a reader: seconds until it can be used, scripts, moving layout, and memory of a long session."""

import asyncio
import shutil
import statistics
import time

from playwright.async_api import Browser, Page, async_playwright

from benchmarks.load import bounded
from benchmarks.people import conversations, cookie_of, new_user
from benchmarks.report import Row
from benchmarks.server import serving
from tests.browser.measuring import Scrolling, renderer_memory, scrolled_back

OPENINGS = 9
PART_SECONDS = 300.0
MESSAGES = 2000
SCROLL_SECONDS = 90.0
REST_SECONDS = 15.0
FLAGS = ["--no-sandbox", "--disable-gpu"]


def measure(*, quick: bool) -> list[Row]:
    """Nothing where there is no Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return []
    user = new_user()
    (short,) = conversations(user, count=1, messages=20)
    (long,) = conversations(user, count=1, messages=MESSAGES)
    with serving() as server:
        work = _measured(chromium, server.url, cookie_of(user), short, long, 3 if quick else OPENINGS)
        return bounded(work, PART_SECONDS)


async def _measured(chromium: str, url: str, cookie: str, short: str, long: str, times: int) -> list[Row]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        took = [await _opened(browser, url, cookie, short) for _ in range(times)]
        memory = await _memory(browser, url, cookie, long)
        scrolling, after = await _scrolled(browser, url, cookie, long)
        await browser.close()
    slowest = f"slowest {max(took):.2f} s of {times}, each with an empty cache"
    return [
        Row("a chat page can be used", statistics.median(took), "s", at_most=1.0, detail=slowest),
        Row("2,000 messages in a page", memory / 2**20, "MB", at_most=150, detail="private memory of its renderer"),
        Row("the same, scrolled through", after / 2**20, "MB", at_most=150, detail="seconds after the reader rests"),
        Row("frames while scrolling back", scrolling.usual, "ms", at_most=34, detail=_stops(scrolling)),
    ]


async def _page(browser: Browser, url: str, cookie: str) -> Page:
    context = await browser.new_context(viewport={"width": 1280, "height": 800})
    name, _, value = cookie.partition("=")
    await context.add_cookies([{"name": name, "value": value, "url": url}])
    return await context.new_page()


async def _opened(browser: Browser, url: str, cookie: str, handle: str) -> float:
    page = await _page(browser, url, cookie)
    began = time.monotonic()
    await page.goto(f"{url}/sessions/{handle}", wait_until="commit")
    await page.locator(".connection", has_text="Connected").wait_for()
    seconds = time.monotonic() - began
    await page.context.close()
    return seconds


async def _memory(browser: Browser, url: str, cookie: str, handle: str) -> int:
    """Bytes when every message has been loaded."""
    page = await _page(browser, url, cookie)
    await page.goto(f"{url}/sessions/{handle}#m-1")
    await page.locator("#m-1").wait_for(state="attached", timeout=60_000)
    await asyncio.sleep(1)
    return await renderer_memory(browser, page)


def _stops(seen: Scrolling) -> str:
    parts = f"{seen.late:.0%} of the time in frames over 50 ms, longest task {seen.longest_task:.0f} ms"
    return f"{parts}, {len(seen.jumps)} jumps" if seen.reached else f"{parts}; the beginning was not reached"


async def _scrolled(browser: Browser, url: str, cookie: str, handle: str) -> tuple[Scrolling, int]:
    """Scrolling from the end to the beginning with the wheel, and the bytes once the reader rests."""
    page = await _page(browser, url, cookie)
    await page.goto(f"{url}/sessions/{handle}")
    await page.locator(".connection", has_text="Connected").wait_for()
    seen = await scrolled_back(page, seconds=SCROLL_SECONDS)
    await asyncio.sleep(REST_SECONDS)
    return seen, await renderer_memory(browser, page)
