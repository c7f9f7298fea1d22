"""Agents whose language work happens in the platform: their Funcs, called at `POST {target}/FUNC`."""

import re
from collections.abc import AsyncGenerator
from typing import ClassVar

from django.conf import settings

from common.errors import AgentFailed
from common.http import aclose_client, client
from registry.transports import wire
from registry.transports.base import AgentMessage, Call, Deployment, Event, Reply, Transport

FUNC_NAME = re.compile(r"\w+")


class CodeShotTransport(Transport):
    kind: ClassVar[str] = "code_shot"

    async def send(self, deployment: Deployment, call: Call) -> AsyncGenerator[Event]:
        if call.func is None:
            raise AgentFailed("This agent answers Func calls only.", reason="no_query")
        yield Reply(await call_func(deployment, call, call.func))

    async def aclose(self) -> None:
        await aclose_client()


async def call_func(deployment: Deployment, call: Call, func: str) -> AgentMessage:
    """Calls one Func over HTTP.

    Raises AgentFailed (with `details["reason"] == "unknown_func"` where the agent has no such Func),
    AgentTimeout, AgentUnreachable or AgentInvalidResponse.
    """
    if not FUNC_NAME.fullmatch(func):
        raise AgentFailed(
            f"Func[{func[:100]}] cannot exist: names are letters, digits and _.", reason="unknown_func", func=func
        )
    answer = await client().request(
        "POST",
        wire.func_url(deployment.target, func),
        headers=wire.headers_of(call),
        content=wire.func_body(call),
        timeout=call.timeout,
        max_bytes=settings.FUNC_ANSWER_MAX_BYTES,
    )
    if answer.status >= 300:
        raise wire.failure_of(answer.status, answer.body, func=func)
    return wire.read_func_answer(answer.body)
