"""A language model for tests: a real OpenAI-compatible server on loopback that writes what a script says."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from tests.agents import Behaviour, Exchange, ScriptedAgent, answer, hang

PATHS = ("/v1/chat/completions", "/v1/completions")
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
EMBEDDINGS = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.25, -0.5]}],
    "model": "scripted",
    "usage": {"prompt_tokens": 5, "total_tokens": 5},
}
MODELS = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in ("scripted", "huge/model")]

Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion and how it is sent: whole, or where it is streamed a word at a time, `delay` seconds between two.

    `cut_after`: the connection breaks after so many words. `hang_after`: it falls silent after so many.
    `heeds_stop`: ends at the request's stop sequences, as real servers do.
    """

    text: str
    delay: float = 0.0
    cut_after: int | None = None
    hang_after: int | None = None
    usage: dict[str, int] | None = field(default_factory=lambda: dict(USAGE))
    finish_reason: str | None = "stop"
    heeds_stop: bool = True


Reply = str | Completion | Behaviour


def failure(status: int, *, message: str = "No.", param: str | None = None, **headers: str) -> Behaviour:
    """An error in OpenAI's form; `headers` with `_` for `-`, such as `retry_after="1"`."""
    body = {"error": {"message": message, "type": "invalid", "param": param, "code": None}}
    return answer(body, status=status, headers={name.replace("_", "-"): value for name, value in headers.items()})


class ScriptedModel:
    """Serves on a free port from `with` to its end; `url` is what LLM_BASE_URL is set to.

    `script`: one reply a request, the last for all that follow; or a function from the request's JSON to a
    reply. A reply is a text, a `Completion`, or any behaviour of `tests.agents`. `requests` holds the JSON of
    all requests, `keys` their bearer keys; `saw_client_leave` tells whether a client broke one off.
    Besides completions it has embeddings and models, which no script changes.
    """

    def __init__(self, *script: Reply, respond: Callable[[Request], Reply] | None = None) -> None:
        self._server = ScriptedAgent()
        self._respond = respond
        self.script(*script)
        for path in PATHS:
            self._server.on(path, self._behave)
        self._server.on("/v1/embeddings", answer(EMBEDDINGS))
        self._server.on("/v1/models", answer({"object": "list", "data": MODELS}), method="GET")
        for model in MODELS:
            self._server.on(f"/v1/models/{model['id']}", answer(model), method="GET")

    def script(self, *replies: Reply) -> None:
        """What the next requests are answered with."""
        self._replies = list(replies)

    def reset(self, *replies: Reply) -> None:
        """`script`, for the next test: what arrived before is forgotten."""
        self.script(*replies)
        self._server.requests.clear()
        self._server.left.clear()

    @property
    def url(self) -> str:
        return f"{self._server.url}/v1"

    @property
    def requests(self) -> list[Request]:
        return [request.json for request in self._server.requests if request.body]

    @property
    def headers(self) -> list[dict[str, str]]:
        return [request.headers for request in self._server.requests]

    @property
    def keys(self) -> list[str]:
        return [request.headers.get("authorization", "") for request in self._server.requests]

    @property
    def connections(self) -> int:
        return self._server.connections

    async def saw_client_leave(self, within: float = 5.0) -> bool:
        return await self._server.saw_client_leave(within)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.__exit__(*error)

    async def _behave(self, exchange: Exchange) -> None:
        request = exchange.request.json
        reply = self._next(request)
        if isinstance(reply, str):
            reply = Completion(reply)
        if isinstance(reply, Completion) and request.get("stream"):
            await _stream(exchange, request, reply)
        elif isinstance(reply, Completion):
            await answer(_whole(reply, is_chat=_is_chat(exchange)))(exchange)
        else:
            await reply(exchange)

    def _next(self, request: Request) -> Reply:
        if self._respond is not None:
            return self._respond(request)
        if not self._replies:
            return failure(500, message="The script is empty.")
        return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]


async def _stream(exchange: Exchange, request: Request, completion: Completion) -> None:
    await exchange.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
    text = _stopped(completion.text, request.get("stop") or []) if completion.heeds_stop else completion.text
    for number, word in enumerate(re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text)):
        if number == completion.hang_after:
            await hang()(exchange)
        if number == completion.cut_after:
            exchange.close()
            return
        await _event(exchange, {"choices": [_choice(word, None, is_chat=_is_chat(exchange))]})
        await asyncio.sleep(completion.delay)
    if completion.finish_reason is not None:
        await _event(exchange, {"choices": [_choice("", completion.finish_reason, is_chat=_is_chat(exchange))]})
    if completion.usage is not None and request.get("stream_options"):
        await _event(exchange, {"choices": [], "usage": completion.usage})
    await _chunk(exchange, "data: [DONE]\n\n")
    await exchange.write(b"0\r\n\r\n")


def _stopped(text: str, stop: list[str]) -> str:
    ends = [text.find(word) for word in stop if word in text]
    return text[: min(ends)] if ends else text


def _is_chat(exchange: Exchange) -> bool:
    return exchange.request.path == PATHS[0]


def _whole(completion: Completion, *, is_chat: bool) -> dict[str, Any]:
    said = {"message": {"role": "assistant", "content": completion.text}} if is_chat else {"text": completion.text}
    choice = {"index": 0, "finish_reason": completion.finish_reason, **said}
    kind = "chat.completion" if is_chat else "text_completion"
    whole = {"id": "c", "object": kind, "created": 0, "model": "scripted", "choices": [choice]}
    return whole if completion.usage is None else {**whole, "usage": completion.usage}


def _choice(text: str, finish_reason: str | None, *, is_chat: bool) -> dict[str, Any]:
    said = {"delta": {"content": text} if text else {}} if is_chat else {"text": text}
    return {"index": 0, "finish_reason": finish_reason, **said}


async def _event(exchange: Exchange, data: dict[str, Any]) -> None:
    whole = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted", **data}
    await _chunk(exchange, f"data: {json.dumps(whole)}\n\n")


async def _chunk(exchange: Exchange, text: str) -> None:
    data = text.encode()
    await exchange.write(b"%x\r\n%b\r\n" % (len(data), data))
