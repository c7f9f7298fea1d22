"""Agents inside the platform: Python callables, found by name."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import ClassVar

from common.errors import AgentTimeout, AgentUnreachable
from registry.transports.base import Call, Deployment, Event, Reply, Transport

InternalAgent = Callable[[Call], AsyncGenerator[Event, None]]

_agents: dict[str, InternalAgent] = {}


def internal_agent(name: str) -> Callable[[InternalAgent], InternalAgent]:
    """Makes an async generator the internal agent `name`: it is given a call and yields events, `Reply` last."""

    def register(agent: InternalAgent) -> InternalAgent:
        _agents[name] = agent
        return agent

    return register


class InternalTransport(Transport):
    kind: ClassVar[str] = "internal"

    async def send(self, deployment: Deployment, call: Call) -> AsyncGenerator[Event]:
        agent = _agents.get(deployment.target)
        if agent is None:
            raise AgentUnreachable(f"This site has no internal agent {deployment.target[:100]}.")
        deadline = asyncio.get_running_loop().time() + call.timeout
        async with aclosing(agent(call)) as events:
            while True:
                try:
                    # Around each step only: a timeout must not interrupt whoever takes the events.
                    async with asyncio.timeout_at(deadline):
                        event = await anext(events, None)
                except TimeoutError:
                    raise AgentTimeout(
                        f"The agent did not answer within {call.timeout:g} seconds.", timeout=call.timeout
                    ) from None
                if event is None:
                    return
                yield event
                if isinstance(event, Reply):
                    return


@internal_agent("echo")
async def echo(call: Call) -> AsyncGenerator[Event, None]:
    """Answers with what it was asked, attachments included."""
    yield Reply(call.message)
