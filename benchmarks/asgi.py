"""What is measured: the site as it is and, in the same process, the view that it is measured against."""

from benchmarks.yardstick import on_the_site, stock
from fixie_site.asgi import application as site
from fixie_site.handler import Message, Receive, Send

HANDLERS = {"/yardstick": stock(), "/yardstick/site": on_the_site()}


async def application(scope: Message, receive: Receive, send: Send) -> None:
    handler = HANDLERS.get(scope.get("path"), site)
    await handler(scope, receive, send)
