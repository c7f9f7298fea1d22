"""The official client of the package `mcp`, connected to a site, for tests that are not async."""

from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Tool

from tests.sites import Site

# Every request on its own, which the package speaks since 2026; and the older way, with a handshake.
MODES = ("auto", "legacy")
Json = dict[str, Any]

# The seed's agent that sends progress updates, as a program.
WORKING = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    for percent in (20, 40, 60):
        said = {"task_id": request["id"], "percent": percent, "message": f"step {percent // 20}"}
        print(json.dumps({"jsonrpc": "2.0", "method": "progress", "params": said}), flush=True)
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": "done"}), flush=True)
"""


class Hand:
    """A client, whose event loop runs in a thread of its own."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def begin(self, tool: str, arguments: Json | None = None, *, progress: list[Any] | None = None) -> Future[Any]:
        """A call that is on its way; `cancel` cancels it. `progress` is filled with what is told on the way."""

        async def heard(done: float, total: float | None, message: str | None) -> None:
            assert progress is not None
            progress.append((done, total, message))

        callback = None if progress is None else heard
        call = partial(self.client.call_tool, tool, arguments, progress_callback=callback)
        return self._portal.start_task_soon(call)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        result: CallToolResult = self.begin(tool, arguments).result(30)
        return result

    def told(self, tool: str, **arguments: Any) -> Json:
        """The document of a result that is no error."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result
        return dict(result.structured_content)

    def delegated(self, prompt: str, task_type: str = "", **more: Any) -> Json:
        return self.told("delegate_task", prompt=prompt, task_type=task_type, **more)

    def error(self, tool: str, **arguments: Any) -> MCPError:
        """The JSON-RPC error that a call is answered with."""
        try:
            result = self.call(tool, **arguments)
        except MCPError as error:
            return error
        raise AssertionError(f"It was answered: {result}")

    def tools(self, after: str | None = None) -> list[Tool]:
        """All tools, page by page."""
        page = self._portal.call(partial(self.client.list_tools, cursor=after))
        return [*page.tools, *(self.tools(page.next_cursor) if page.next_cursor else ())]

    def agents(self, **arguments: Any) -> list[Json]:
        """All agents that `list_agents` tells of, page by page."""
        page = self.told("list_agents", **arguments)
        rest = self.agents(**{**arguments, "after": page["next"]}) if "next" in page else []
        return [*page["agents"], *rest]


@contextmanager
def hand_of(connection: Callable[[], AbstractAsyncContextManager[Client]]) -> Iterator[Hand]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connection()) as client:
        yield Hand(portal, client)


@asynccontextmanager
async def over_http(site: Site, key: str | None, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{site.url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def call(tool: str, **arguments: Any) -> Json:
    """A call as plain JSON-RPC."""
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
