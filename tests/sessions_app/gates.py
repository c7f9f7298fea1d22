"""Agents and a language model that stop where a test told them to, until it lets them go on."""

import asyncio
import json
import threading
import uuid

import httpx2

from tests.agents import Behaviour, Exchange, Request, ScriptedAgent, answer
from tests.sessions_app.people import wait_until
from tests.sessions_app.streaming import begin, end, reached, say

FEW_SHOT = "Q: go\nAsk Func[one]: go\nFunc[one] says: 1\nAsk Func[two]: go\nFunc[two] says: 2\nA: done"
MANIFEST = {"type": "code_shot", "base_prompt": "I ask Func[one] and Func[two].", "few_shots": [FEW_SHOT]}


class Gate:
    """A place where answers wait. `left` is set once somebody who waits there goes away."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.left = threading.Event()
        self.waiting = 0

    async def passed(self) -> None:
        self.waiting += 1
        try:
            await reached(self.open)
        except asyncio.CancelledError:
            self.left.set()
            raise

    def until_reached(self, times: int = 1) -> None:
        wait_until(lambda: self.waiting >= times, 40)


Piece = str | Gate
# What the model writes for queries that no test has spoken of.
DEFAULT: list[tuple[Piece, ...]] = [("Ask Func[one]: x",), ("A: done",)]


class Stage:
    """A server with agents of its own, and the language model that writes for its Code Shot agents."""

    def __init__(self, server: ScriptedAgent) -> None:
        self._server = server
        self._completions: dict[str, list[tuple[Piece, ...]]] = {}
        server.on("/v1/chat/completions", self._complete)

    @property
    def model_url(self) -> str:
        return f"{self._server.url}/v1"

    def query_agent(self, http: httpx2.Client, *pieces: Piece, again: tuple[Piece, ...] | None = None) -> str:
        """The id of an agent whose answer to a query grows by these pieces, and from its second call by `again`."""
        handle = f"agent-{uuid.uuid4().hex[:8]}"

        async def behave(exchange: Exchange) -> None:
            nonlocal pieces
            text, now, pieces = "", pieces, pieces if again is None else again
            await begin(exchange)
            for piece in now:
                if isinstance(piece, Gate):
                    await piece.passed()
                else:
                    text += piece
                    await say(exchange, text)
            await end(exchange)

        self._server.on(f"/{handle}", behave)
        return self._register(http, handle)

    def code_shot(
        self,
        http: httpx2.Client,
        *,
        one: Gate | Behaviour | None = None,
        two: Gate | Behaviour | None = None,
        asks: str = "nobody",
    ) -> str:
        """The id of a Code Shot agent with the Funcs `one` and `two`, which wait at their gates, or behave so.

        It may ask the agent `asks`.
        """
        handle = f"agent-{uuid.uuid4().hex[:8]}"
        manifest = {**MANIFEST, "base_prompt": f"{MANIFEST['base_prompt']} I ask the agent {asks}, too."}
        self._server.on(f"/{handle}", answer(manifest), method="GET")
        self._server.on(f"/{handle}/one", _func("one", one))
        self._server.on(f"/{handle}/two", _func("two", two))
        return self._register(http, handle)

    def _register(self, http: httpx2.Client, handle: str) -> str:
        agent = {"handle": handle, "deployment_url": f"{self._server.url}/{handle}", "published": True}
        registered = http.post("/api/agents", json=agent)
        assert registered.status_code == 201, registered.text
        assert registered.json()["revision"]["state"] == "ready", registered.text
        return str(registered.json()["agent_id"])

    def calls(self, agent: str, func: str = "") -> list[Request]:
        """Every call to the agent (to its Func), in the order of their arrival."""
        path = f"/{agent.partition('/')[2]}" + (f"/{func}" if func else "")
        return [request for request in self._server.requests if (request.method, request.path) == ("POST", path)]

    def keys(self, agent: str, func: str = "") -> list[str]:
        """The Idempotency-Key of each of these calls."""
        return [request.headers["idempotency-key"] for request in self.calls(agent, func)]

    def model_writes(self, query: str, *completions: tuple[Piece, ...]) -> None:
        """What the model writes for `query`: the first completion, the one after the first Func's answer, …"""
        self._completions[query] = list(completions)

    async def _complete(self, exchange: Exchange) -> None:
        transcript = exchange.request.json["messages"][-1]["content"]
        query = transcript.partition("\n")[0].removeprefix("Q: ")
        pieces = self._completions.get(query, DEFAULT)[transcript.count("] says:")]
        await exchange.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for piece in pieces:
            if isinstance(piece, Gate):
                await piece.passed()
            else:
                await _chunk(exchange, {"delta": {"content": piece}, "finish_reason": None})
        await _chunk(exchange, {"delta": {}, "finish_reason": "stop"})
        await _event(exchange, "[DONE]")
        await end(exchange)


def _func(name: str, gate: Gate | Behaviour | None) -> Behaviour:
    if gate is not None and not isinstance(gate, Gate):
        return gate
    said = answer(lambda request: {"message": {"text": f"{name} of {request.json['message']['text']}"}})

    async def behave(exchange: Exchange) -> None:
        if gate is not None:
            await gate.passed()
        await said(exchange)

    return behave


async def _chunk(exchange: Exchange, choice: dict[str, object]) -> None:
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    await _event(exchange, json.dumps({**chunk, "choices": [{"index": 0, **choice}]}))


async def _event(exchange: Exchange, data: str) -> None:
    line = f"data: {data}\n\n".encode()
    await exchange.write(b"%x\r\n%b\r\n" % (len(line), line))
