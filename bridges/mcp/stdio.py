"""`manage.py mcp`: the MCP server of a running site for programs on one's own machine, over stdin and stdout.

It only hands on: it needs an API key and the site's address, and neither Django nor a database. Stdout carries
JSON-RPC and nothing else; what goes wrong at the start is told on stderr.
"""

import argparse
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import mcp_types as types
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

# An answer may take as long as it takes; the site ends runs that take too long.
TIMEOUT = httpx2.Timeout(30.0, read=None)
# The same code as that of an agent that cannot be reached.
UNAVAILABLE = -32002
DESCRIPTION = "Serves the agents of a running Fixie site to an MCP client on this machine, over stdin and stdout."

Context = ServerRequestContext[Any, Any]


class CannotServe(Exception):
    """The message is one clear line."""


class Lasting(httpx2.AsyncHTTPTransport):
    """A site that cannot be reached answers so: to the client of `mcp` a failed connection is the end of them all."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await super().handle_async_request(request)
        except httpx2.TransportError as error:
            words = f"Cannot reach {request.url}: {error or type(error).__name__}."
            document = {"jsonrpc": "2.0", "id": None, "error": {"code": UNAVAILABLE, "message": words}}
            return httpx2.Response(503, json=document)


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit code."""
    chosen = _parser().parse_args(arguments)
    try:
        anyio.run(serve, _site_url(chosen.url), _key(chosen.key_file))
    except CannotServe as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("manage.py mcp", description=DESCRIPTION)
    here = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
    parser.add_argument("--url", default=os.environ.get("SITE_URL") or here, help="the site's address (%(default)s)")
    parser.add_argument("--key-file", type=Path, help="a file with an API key; without it FIXIE_API_KEY is used")
    return parser


def _site_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise CannotServe(f"{url} is no address of a site; one is like http://127.0.0.1:8000.")
    return url.rstrip("/")


def _key(file: Path | None) -> str:
    if file is None:
        key = os.environ.get("FIXIE_API_KEY", "")
        missing = "Set FIXIE_API_KEY to an API key of the site (/accounts/keys), or name a file: --key-file FILE."
    else:
        missing = f"There is no API key in {file}."
        try:
            key = file.read_text().strip()
        except (OSError, UnicodeDecodeError):
            raise CannotServe(f"Cannot read the API key in {file}.") from None
    if not key or not key.isascii():
        raise CannotServe(missing)
    return key


async def serve(url: str, key: str) -> None:
    """Serves until stdin ends. Raises CannotServe."""
    async with _site(url, key) as site, stdio_server() as (received, sent):
        server = _relay(site)
        await server.run(received, sent, server.create_initialization_options())


@asynccontextmanager
async def _site(url: str, key: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=TIMEOUT, transport=Lasting()) as http:
        await _check(http, f"{url}/mcp")
        # An answer of any length is one event.
        transport = streamable_http_client(f"{url}/mcp", http_client=http, max_sse_event_size=None)
        async with Client(transport) as site:
            yield site


async def _check(http: httpx2.AsyncClient, address: str) -> None:
    """Raises CannotServe, with the reason, unless the site answers."""
    answer = await http.post(address, json={"jsonrpc": "2.0", "id": 0, "method": "ping"})
    if answer.status_code != 200:
        raise CannotServe(_reason(answer) or f"{address} answers {answer.status_code}; is it a Fixie site?")


def _reason(answer: httpx2.Response) -> str | None:
    try:
        return str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return None


def _relay(site: Client) -> Server[Any]:
    """A server with the site's tools. What is canceled here is canceled there: the client closes its request."""

    async def list_tools(_: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await site.list_tools(cursor=params.cursor if params else None)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        report = context.session.report_progress
        return await site.call_tool(params.name, params.arguments, progress_callback=report)

    told = site.server_info
    return Server(
        told.name if told else "fixie",
        version=told.version if told else "",
        title=told.title if told else None,
        instructions=site.instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
