"""AgentApps of AgentScope Runtime: `POST …/process`, answered by a stream of the Agent API protocol's objects."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from time import monotonic
from typing import ClassVar

from django.conf import settings

from common.errors import AgentFailed, AgentInvalidResponse
from common.http import Response, aclose_client, client
from registry.transports.agentscope import asking, documents
from registry.transports.agentscope.models import Event as Document
from registry.transports.agentscope.reading import AnswerReader
from registry.transports.base import Call, Deployment, Event, Transport

# An event may hold pictures and files as Base64, and the whole answer once more; a stream holds many of them.
EVENT_FACTOR, STREAM_FACTOR = 8, 64
# Seconds of reading after which others have their turn.
TURN = 0.02
EVENTS, JSON = "text/event-stream", "application/json"


class AgentScopeTransport(Transport):
    """The app is told the session and the user; it may remember them, and is told what was said before all the same."""

    kind: ClassVar[str] = "agentscope"
    wants_history: ClassVar[bool] = True

    async def send(self, deployment: Deployment, call: Call) -> AsyncGenerator[Event]:
        if call.func is not None:
            raise AgentFailed(
                "This agent answers queries; it has no Funcs.", reason="unknown_func", func=call.func[:100]
            )
        answer = AnswerReader(call.message.embeds, settings.FUNC_ANSWER_MAX_BYTES)
        async with (
            client().stream(
                "POST",
                asking.process_url(deployment),
                headers=asking.headers_of(call),
                content=asking.request_of(call),
                timeout=call.timeout,
                max_bytes=settings.FUNC_ANSWER_MAX_BYTES * STREAM_FACTOR,
            ) as response,
            aclosing(_documents_of(response)) as found,
        ):
            async for arrived in found:
                began = monotonic()
                for document in arrived:
                    for event in answer.take(document):
                        yield event
                    if answer.is_over:
                        return
                    if monotonic() - began > TURN:
                        await asyncio.sleep(0)
                        began = monotonic()
                for event in answer.catch_up():
                    yield event
                # What is there already is not waited for, so nobody else would have a turn.
                await asyncio.sleep(0)
        answer.finish()

    async def aclose(self) -> None:
        await aclose_client()


async def _documents_of(response: Response) -> AsyncGenerator[Iterator[Document]]:
    """What each piece that comes from the network completes."""
    if response.status >= 300:
        raise documents.failure_of(response.status, await response.read(settings.FUNC_ANSWER_MAX_BYTES))
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    max_bytes = settings.FUNC_ANSWER_MAX_BYTES * EVENT_FACTOR
    if kind == JSON:
        yield iter([documents.response_in(await response.read(max_bytes))])
    elif kind == EVENTS:
        stream = documents.EventStream(max_bytes)
        async for chunk in response:
            yield stream.feed(chunk)
        yield stream.finish()
    else:
        raise AgentInvalidResponse(f"The agent answers with {kind[:100] or 'what has no type'}, which are no events.")
