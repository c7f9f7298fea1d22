"""What a page costs the reader: scripts, shifts of the layout, memory, and how soon it can be used."""

import asyncio
import gzip
import statistics
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, Response

# In the page, before anything of it: `shift` adds up by how much things moved that nobody moved.
COUNT_SHIFTS = """() => { globalThis.shift = 0; new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) globalThis.shift += entry.value;
}).observe({type: "layout-shift", buffered: true}); }"""


class Scripts:
    """The scripts that a page has loaded, and their size as a server would send them: with gzip."""

    def __init__(self, page: Page) -> None:
        self._responses: list[Response] = []
        page.on("response", lambda response: self._responses.append(response))

    async def sizes(self) -> dict[str, int]:
        """Compressed bytes by address, each once."""
        found: dict[str, int] = {}
        for response in self._responses:
            path = urlsplit(response.url).path
            if path.endswith(".js") and path not in found:
                found[path] = len(gzip.compress(await response.body(), compresslevel=6))
        return found


async def renderer_memory(browser: Browser, page: Page) -> int:
    """Bytes that the page's renderer has for itself alone, of all kinds, when garbage has been collected.

    Of the browser's renderers the one that has most: there is one large page.
    """
    session = await page.context.new_cdp_session(page)
    await session.send("HeapProfiler.collectGarbage")
    whole = await browser.new_browser_cdp_session()
    processes = (await whole.send("SystemInfo.getProcessInfo"))["processInfo"]
    return max(_private(process["id"]) for process in processes if process["type"] == "renderer")


def _private(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Private_"))


# In the page: of each frame its length, and how far the turn in the middle of the window moved although nobody scrolled
# it there. Who scrolls back sees everything move down, by a few steps of the wheel in one frame at most.
WATCH_SCROLLING = """() => {
    const seen = globalThis.scrolling = { tasks: [], frames: [], jumps: [] };
    new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: "longtask" });
    let before, place, top;
    const frame = (now) => {
        if (before !== undefined) seen.frames.push(now - before);
        before = now;
        const moved = place?.isConnected ? place.getBoundingClientRect().top - top : 0;
        if (moved < -64 || moved > 5 * innerHeight) seen.jumps.push(Math.round(moved));
        place = document.elementFromPoint(innerWidth / 2, innerHeight / 2)?.closest("fixie-turn");
        top = place?.getBoundingClientRect().top;
        requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
}"""
WHEEL_PX = 500
WHEEL_SECONDS = 0.016


@dataclass(frozen=True, slots=True)
class Scrolling:
    """Scrolling back to the beginning of a conversation: milliseconds of its frames and tasks, pixels of its jumps.

    `jumps` are moves of what somebody reads that no wheel made.
    """

    frames: list[float]
    longest_task: float
    jumps: list[int]
    reached: bool

    @property
    def late(self) -> float:
        """The part of the time that went into frames of more than 50 ms, in which a reader sees a stop."""
        return sum(frame for frame in self.frames if frame > 50) / max(sum(self.frames), 1)

    @property
    def usual(self) -> float:
        return statistics.median(self.frames)


async def scrolled_back(page: Page, *, seconds: float) -> Scrolling:
    """Turns the wheel until the first message is in sight, while earlier ones load, but no longer than `seconds`."""
    size = page.viewport_size or {"width": 0, "height": 0}
    await page.mouse.move(size["width"] / 2, size["height"] / 2)
    await page.evaluate(WATCH_SCROLLING)
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    reached = False
    while not reached and loop.time() < end:
        for _ in range(20):
            await page.mouse.wheel(0, -WHEEL_PX)
            await asyncio.sleep(WHEEL_SECONDS)
        reached = await page.evaluate("scrollY === 0 && document.getElementById('m-1') !== null")
    seen = await page.evaluate("scrolling")
    return Scrolling(seen["frames"], max(seen["tasks"], default=0.0), seen["jumps"], reached)


async def nodes_of(page: Page) -> int:
    """Nodes of the DOM, also those that are drawn no more and are still held."""
    session = await page.context.new_cdp_session(page)
    return int((await session.send("Memory.getDOMCounters"))["nodes"])
