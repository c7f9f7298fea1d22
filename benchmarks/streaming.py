"""How much later a token reaches the browser's socket than it left the language model, or the agent."""

import asyncio
import json
import statistics
import time
from dataclasses import dataclass, field

import httpx2
import orjson
from websockets.asyncio.client import connect

from benchmarks.load import bounded
from benchmarks.people import key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving
from tests.agents import Exchange, ScriptedAgent, answer
from tests.sessions_app.streaming import begin, end, say

TOKENS = 2000
TOKENS_IF_QUICK = 300
RATE = 100
BOUND_MS = 35
SLACK_SECONDS = 20.0
TOKEN = " word"
MANIFEST = {"type": "code_shot", "base_prompt": "I talk.", "few_shots": ["Q: go\nA: word"]}
COMPLETIONS = "/v1/chat/completions"


@dataclass(slots=True)
class Talk:
    """One answer of `count` tokens at an even pace; `sent` is when each of them left, by the monotonic clock."""

    count: int
    sent: list[float] = field(default_factory=list)

    async def _pace(self) -> None:
        """Returns when the next token is due, and notes that it leaves."""
        if not self.sent:
            self.sent.append(time.monotonic())
            return
        due = self.sent[0] + len(self.sent) / RATE
        await asyncio.sleep(due - time.monotonic())
        self.sent.append(time.monotonic())

    async def as_model(self, exchange: Exchange) -> None:
        """An OpenAI-compatible stream: an event a token."""
        await exchange.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        await _event(exchange, "A:", None)
        for _ in range(self.count):
            await self._pace()
            await _event(exchange, TOKEN, None)
        await _event(exchange, "", "stop")
        await _chunk(exchange, "data: [DONE]\n\n")
        await end(exchange)

    async def as_agent(self, exchange: Exchange) -> None:
        """JSON lines, each with the whole text so far."""
        await begin(exchange)
        for number in range(1, self.count + 1):
            await self._pace()
            await say(exchange, (TOKEN * number).lstrip())
        await end(exchange)


async def _event(exchange: Exchange, content: str, finish_reason: str | None) -> None:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish_reason}
    event = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m", "choices": [choice]}
    await _chunk(exchange, f"data: {json.dumps(event)}\n\n")


async def _chunk(exchange: Exchange, text: str) -> None:
    data = text.encode()
    await exchange.write(b"%x\r\n%b\r\n" % (len(data), data))


def measure(*, quick: bool) -> list[Row]:
    """Both ways at the same time: each is a run of its own, and together they take as long as one."""
    count = TOKENS_IF_QUICK if quick else TOKENS
    key = key_of(new_user())
    model, agent = Talk(count), Talk(count)
    with ScriptedAgent() as source, serving(LLM_BASE_URL=f"{source.url}/v1", LLM_API_KEY="none") as server:
        source.on(COMPLETIONS, model.as_model)
        source.on("/talker", answer(MANIFEST), method="GET")
        source.on("/lines", agent.as_agent)
        with server.client(key) as http:
            sessions = [_session(http, handle, f"{source.url}/{handle}") for handle in ("talker", "lines")]
        bound = count / RATE + SLACK_SECONDS
        arrivals = bounded(_followed(server, key, sessions, count), bound)
    return [
        _row("tokens of a language model to the socket", model, arrivals[0]),
        _row("tokens of an agent's own stream to the socket", agent, arrivals[1]),
    ]


def _session(http: httpx2.Client, handle: str, url: str) -> str:
    """The handle of a new session with a new agent at `url`."""
    agent = http.post("/api/agents", json={"handle": handle, "deployment_url": url}).raise_for_status().json()
    session = http.post("/api/sessions", json={"agent": agent["agent_id"]}).raise_for_status().json()
    return str(session["handle"])


async def _followed(server: Server, key: str, sessions: list[str], count: int) -> list[list[float]]:
    return await asyncio.gather(*(_arrivals(server, key, session, count) for session in sessions))


async def _arrivals(server: Server, key: str, session: str, count: int) -> list[float]:
    """Asks, and notes when each token of the answer arrives. Raises RuntimeError where one is missing."""
    arrived: list[float] = []
    url = f"{server.ws_url}/ws/sessions/{session}"
    async with connect(url, additional_headers={"Authorization": f"Bearer {key}"}, proxy=None) as socket:
        await socket.send(json.dumps({"type": "message", "text": "go"}))
        status = ""
        while status not in ("completed", "failed", "canceled"):
            frame = orjson.loads(await socket.recv())
            length = _length(frame)
            arrived += [time.monotonic()] * (_tokens_in(length) - len(arrived))
            status = frame["status"] if frame["type"] == "run" else ""
    if (status, len(arrived)) != ("completed", count):
        raise RuntimeError(f"The run is {status} after {len(arrived)} of {count} tokens.")
    return arrived


def _length(frame: dict[str, object]) -> int:
    """How much of the answer's text a client has after this frame; 0 where the frame is not about it."""
    match frame:
        case {"type": "delta", "offset": int(offset), "text": str(text)}:
            return offset + len(text)
        case {"type": "snapshot", "text": str(text)}:
            return len(text)
        case {"type": "message", "message": {"kind": "response", "text": str(text)}}:
            return len(text)
    return 0


def _tokens_in(length: int) -> int:
    # The first token has lost its space.
    return (length + 1) // len(TOKEN)


def _row(name: str, talk: Talk, arrived: list[float]) -> Row:
    delays = sorted((there - here) * 1e3 for here, there in zip(talk.sent, arrived, strict=True))
    p99 = delays[int(len(delays) * 0.99)]
    detail = f"median of {talk.count:,} tokens at {RATE} a second; p99 {p99:.1f} ms"
    return Row(name, statistics.median(delays), "ms", at_most=BOUND_MS, detail=detail)
