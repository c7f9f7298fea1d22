"""One call through the proxy: opened, passed on as it comes, and counted whatever becomes of it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import orjson
import structlog
from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from accounts.quotas import count_tokens
from bridges.openai_proxy.access import Payer
from bridges.openai_proxy.errors import ProxyError
from bridges.openai_proxy.metering import DONE, Events, Meter, data_of, document_of, is_only_usage
from bridges.openai_proxy.requests import MODELS, Asked
from bridges.openai_proxy.upstream import Answer, aclose_client, error_body
from common.db import RETRYABLE

SILENT_REMEMBERED = 1000

log = structlog.get_logger()

# asyncio keeps only weak references to tasks.
_counting: set[asyncio.Task[None]] = set()
# Models whose server refuses to tell a stream's usage; it is not asked again.
_silent: set[str] = set()


class Bill:
    """What one call uses, counted once, also where the client has left."""

    def __init__(self, payer: Payer, asked: Asked) -> None:
        self.meter = Meter(asked.body)
        self._payer = payer
        self._path = asked.path
        self._task: asyncio.Task[None] | None = None

    def settle_soon(self) -> "asyncio.Task[None]":
        """Counts in the background what the meter says now; later calls change nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._count())
            _counting.add(self._task)
            self._task.add_done_callback(_counting.discard)
        return self._task

    async def settle(self) -> None:
        """`settle_soon`, and waits: whoever calls again after this is checked against it."""
        await asyncio.shield(self.settle_soon())

    async def _count(self) -> None:
        tokens, payer = self.meter.tokens(), self._payer
        bound = log.bind(path=self._path, user=payer.user, agent=payer.agent and payer.agent.name)
        bound.info("openai_proxy", prompt_tokens=tokens.prompt, completion_tokens=tokens.completion)
        try:
            await count_tokens(user=payer.user, agent=payer.agent, prompt=tokens.prompt, completion=tokens.completion)
        except RETRYABLE as error:  # the answer is there, and its caller shall have it
            bound.error("tokens_not_counted", error=type(error).__name__)


async def stop() -> None:
    """The end of the process: counts every call that has ended, and lets go of the server."""
    while _counting:
        await asyncio.wait(set(_counting))
    await aclose_client()


async def relay(asked: Asked, payer: Payer) -> HttpResponseBase:
    """The server's answer to a call, as it comes. Raises ProxyError.

    Counted is every call that the server did not refuse: what it says at the end, or what was seen of it.
    """
    bill = Bill(payer, asked)
    try:
        answer = await _open(asked)
    except asyncio.CancelledError:  # the client has left while the server was at work
        bill.settle_soon()
        raise
    if answer.status >= 300:
        return await _refusal(answer)
    if not answer.is_stream():
        return await _whole(asked, answer, bill)
    pieces = _pieces(answer, bill, hide_usage=asked.added_usage)
    # A server that breaks off before its first word is an error with a status of its own. And from here on the
    # generator has begun, so that its end is reached whatever happens.
    first = await anext(pieces, b"")
    return StreamingHttpResponse(
        _resumed(first, pieces), content_type=answer.content_type, headers={"Cache-Control": "no-store"}
    )


async def _open(asked: Asked) -> Answer:
    """Opens a call; where the server refuses it, once more without what we added to it."""
    if asked.body is None or not asked.added_usage:
        return await Answer.open(asked)
    model = asked.body["model"]
    if model not in _silent:
        answer = await Answer.open(asked)
        if answer.status not in (400, 422):
            return answer
        await answer.close()
    answer = await Answer.open(asked.without_usage())
    if answer.status < 300 and len(_silent) < SILENT_REMEMBERED:
        _silent.add(model)
    return answer


async def _refusal(answer: Answer) -> HttpResponse:
    try:
        body = await error_body(answer)
    finally:
        await answer.close()
    response = HttpResponse(body, status=answer.status, content_type="application/json")
    if answer.retry_after:
        response.headers["Retry-After"] = answer.retry_after
    return response


async def _whole(asked: Asked, answer: Answer, bill: Bill) -> HttpResponse:
    try:
        body = await answer.read()
        document = document_of(body)
        bill.meter.take(document)
        await bill.settle()
    finally:
        bill.settle_soon()
        await answer.close()
    if asked.path == MODELS and settings.LLM_PROXY_MODELS and isinstance(document, dict):
        body = orjson.dumps({**document, "data": _allowed(document.get("data"))})
    return HttpResponse(body, status=answer.status, content_type=answer.content_type)


def _allowed(models: object) -> list[object]:
    found = models if isinstance(models, list) else []
    return [model for model in found if isinstance(model, dict) and model.get("id") in settings.LLM_PROXY_MODELS]


async def _pieces(answer: Answer, bill: Bill, *, hide_usage: bool) -> AsyncGenerator[bytes]:
    """A stream's bytes, an event at a time; a failure after the first event becomes the last one.

    The call is counted before its end is passed on.
    """
    has_begun = False
    try:
        async for event in _events(answer):
            data = data_of(event)
            document = document_of(data)
            bill.meter.take(document)
            if data == DONE:
                await bill.settle()
            if not (hide_usage and is_only_usage(document)):
                has_begun = True
                yield event
        await bill.settle()
    except ProxyError as error:
        if not has_begun:
            raise
        await bill.settle()
        yield b"data: %s\n\n" % orjson.dumps(error.document())
    finally:
        bill.settle_soon()
        await answer.close()


async def _events(answer: Answer) -> AsyncIterator[bytes]:
    events = Events()
    async for piece in answer:
        for event in events.feed(piece):
            yield event
    if events.rest:
        yield events.rest


async def _resumed(first: bytes, pieces: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(pieces):
        yield first
        async for piece in pieces:
            yield piece
