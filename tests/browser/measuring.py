"""What a page costs the reader: scripts, shifts of the layout, memory, and how soon it can be used."""

import gzip
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


async def nodes_of(page: Page) -> int:
    """Nodes of the DOM, also those that are drawn no more and are still held."""
    session = await page.context.new_cdp_session(page)
    return int((await session.send("Memory.getDOMCounters"))["nodes"])
