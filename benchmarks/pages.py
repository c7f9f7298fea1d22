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
from tests.browser.measuring import renderer_memory

OPENINGS = 9
PART_SECONDS = 180.0
MESSAGES = 2000
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
        await browser.close()
    slowest = f"slowest {max(took):.2f} s of {times}, each with an empty cache"
    return [
        Row("a chat page can be used", statistics.median(took), "s", at_most=1.0, detail=slowest),
        Row("2,000 messages in a page", memory / 2**20, "MB", at_most=150, detail="private memory of its renderer"),
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
