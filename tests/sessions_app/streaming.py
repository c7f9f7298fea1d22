"""How streaming agents behave, for `tests.agents.ScriptedAgent`: JSON lines, each with the whole text so far."""

import asyncio
import json
import threading
from collections.abc import Iterator

from tests.agents import Behaviour, Exchange

POLL_SECONDS = 0.005


async def say(exchange: Exchange, text: str) -> None:
    """One line of the stream."""
    line = json.dumps({"message": {"text": text}}).encode() + b"\n"
    await exchange.write(b"%x\r\n%b\r\n" % (len(line), line))


async def begin(exchange: Exchange) -> None:
    await exchange.head(200, {"content-type": "application/jsonl", "transfer-encoding": "chunked"})


async def end(exchange: Exchange) -> None:
    await exchange.write(b"0\r\n\r\n")


async def reached(gate: threading.Event) -> None:
    while not gate.is_set():  # noqa: ASYNC110 -- an event of another thread
        await asyncio.sleep(POLL_SECONDS)


def lines(*texts: str, delay: float = 0.0) -> Behaviour:
    """These texts, one after the other, each as the whole answer so far."""

    async def behave(exchange: Exchange) -> None:
        await begin(exchange)
        for text in texts:
            await say(exchange, text)
            await asyncio.sleep(delay)
        await end(exchange)

    return behave


def held(gate: threading.Event) -> Behaviour:
    """Says `On QUERY`, waits for the gate, then says `On QUERY: done`."""

    async def behave(exchange: Exchange) -> None:
        start = f"On {exchange.request.json['text']}"
        await begin(exchange)
        await say(exchange, start)
        await reached(gate)
        await say(exchange, f"{start}: done")
        await end(exchange)

    return behave


def endless(pieces: Iterator[str], finish: threading.Event, delay: float = POLL_SECONDS) -> Behaviour:
    """Grows by a piece every `delay` seconds until `finish` is set."""

    async def behave(exchange: Exchange) -> None:
        text = ""
        await begin(exchange)
        while not finish.is_set():
            text += next(pieces)
            await say(exchange, text)
            await asyncio.sleep(delay)
        await end(exchange)

    return behave
