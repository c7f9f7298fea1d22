"""The ASGI application: HTTP by Django, sockets by channels, and the runs that both start."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fixie_site.settings")

import django

django.setup()

from channels.auth import AuthMiddlewareStack  # noqa: E402 -- models exist only after Django's set-up
from channels.routing import URLRouter  # noqa: E402
from django.urls import path, re_path  # noqa: E402
from django.utils.translation import override  # noqa: E402

from bridges.mcp import endpoint as mcp  # noqa: E402
from bridges.openai_proxy import relay as openai_proxy  # noqa: E402
from fixie_site import browser_sockets, graphql_socket  # noqa: E402
from fixie_site.handler import Handler, Message, Receive, Send  # noqa: E402
from fixie_site.preferences import language_of_socket  # noqa: E402
from sessions_app import process  # noqa: E402
from sessions_app.consumers import SessionConsumer  # noqa: E402

http = Handler()


async def nowhere(scope: Message, receive: Receive, send: Send) -> None:
    """Refuses a socket to an unknown address."""
    await send({"type": "websocket.close"})


sockets: Any = URLRouter(
    [
        path("ws/sessions/<slug:handle>", SessionConsumer.as_asgi()),
        path("graphql", graphql_socket.socket),
        re_path("", nowhere),  # type: ignore[arg-type]
    ]
)
sockets_of_browsers: Any = AuthMiddlewareStack(browser_sockets.bounded(sockets))


async def websocket(scope: Message, receive: Receive, send: Send) -> None:
    """A socket opened with a key needs no cookie looked up; what goes wrong it is told in English."""
    if any(name == b"authorization" for name, _ in scope["headers"]):
        await sockets(scope, receive, send)
        return
    with override(language_of_socket(scope["headers"])):
        await sockets_of_browsers(scope, receive, send)


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Uvicorn announces its start and stop (`lifespan`); under daphne the first request starts the process."""
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
        return
    await process.start()
    if scope["type"] == "websocket":
        await websocket(scope, receive, send)
    elif scope["path"] == mcp.PATH:
        await mcp.serve(scope, receive, send)
    else:
        await http(scope, receive, send)


async def lifespan(receive: Receive, send: Send) -> None:
    await receive()
    await process.start()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await mcp.stop()
    await openai_proxy.stop()
    await process.stop()
    await send({"type": "lifespan.shutdown.complete"})
