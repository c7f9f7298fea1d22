"""Agents that answer queries themselves: `POST {target}`, one JSON answer or a stream of JSON lines."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import ClassVar

from django.conf import settings

from common.http import Response, aclose_client, client
from registry.transports import wire
from registry.transports.base import AgentMessage, Call, Deployment, Event, Reply, TextSoFar, Transport
from registry.transports.code_shot import call_func

# Every line of a stream repeats the text so far: a long answer weighs many times its length.
STREAM_FACTOR = 64


class QueryHttpTransport(Transport):
    """The query goes to the target as it was registered; Funcs, which such an agent may have too, below it."""

    kind: ClassVar[str] = "query_http"

    async def send(self, deployment: Deployment, call: Call) -> AsyncGenerator[Event]:
        if call.func is not None:
            yield Reply(await call_func(deployment, call, call.func))
            return
        message = AgentMessage("")
        async with client().stream(
            "POST",
            deployment.target,
            headers=wire.headers_of(call),
            content=wire.query_body(call),
            timeout=call.timeout,
            max_bytes=settings.FUNC_ANSWER_MAX_BYTES * STREAM_FACTOR,
        ) as response:
            async for message in _answers(response):
                yield TextSoFar(message.text)
        yield Reply(message)

    async def aclose(self) -> None:
        await aclose_client()


async def _answers(response: Response) -> AsyncIterator[AgentMessage]:
    if response.status >= 300:
        raise wire.failure_of(response.status, await response.read(settings.FUNC_ANSWER_MAX_BYTES))
    answers = wire.QueryAnswers(settings.FUNC_ANSWER_MAX_BYTES)
    async for chunk in response:
        for message in answers.feed(chunk):
            yield message
    for message in answers.finish():
        yield message
