"""Agents whose programs ask other agents, with the token of the call that they answer."""

import asyncio
from typing import Any

import httpx2

from tests.agents import Behaviour, Exchange, answer
from tests.sessions_app.gates import Gate
from tests.sites import Site


def headers_of(exchange: Exchange) -> dict[str, str]:
    return {"Authorization": exchange.request.headers["authorization"]}


def query_of(exchange: Exchange) -> str:
    return str(exchange.request.json["message"]["text"])


async def asked(site: Site, exchange: Exchange, agent: str, text: str, **more: Any) -> httpx2.Response:
    """What the site says when this agent asks `agent`; `more` goes with the body, `key` is the Idempotency-Key."""
    key = more.pop("key", None)
    headers = headers_of(exchange) | ({"Idempotency-Key": key} if key else {})
    async with httpx2.AsyncClient(base_url=site.url, headers=headers, timeout=30, verify=False) as http:
        return await http.post(f"/api/agents/{agent}", json={"message": {"text": text}, **more})


def words_of(response: httpx2.Response) -> str:
    """The answer's text, or what the error says."""
    document = response.json()
    return str(document["message"]["text"] if response.status_code == 200 else document["error"]["message"])


def says(text: str) -> Behaviour:
    return answer({"message": {"text": text}})


def asks(site: Site, agent: str, text: str | None = None) -> Behaviour:
    """An agent that asks another, in its own words or with the query's, and says `AGENT: …`."""

    async def behave(exchange: Exchange) -> None:
        said = words_of(await asked(site, exchange, agent, text or query_of(exchange)))
        await says(f"{agent}: {said}")(exchange)

    return behave


def keeps(token: list[str], gate: Gate) -> Behaviour:
    """An agent that puts the token of its call into `token`, and waits at the gate."""

    async def behave(exchange: Exchange) -> None:
        token.append(exchange.request.headers["authorization"].removeprefix("Bearer "))
        await gate.passed()
        await says("done")(exchange)

    return behave


def fans_out(site: Site, agent: str, times: int, answers: list[httpx2.Response]) -> Behaviour:
    """An agent that asks another so many times at once, and puts what it hears into `answers`."""

    async def behave(exchange: Exchange) -> None:
        async with httpx2.AsyncClient(
            base_url=site.url,
            headers=headers_of(exchange),
            timeout=30,
            verify=False,
            limits=httpx2.Limits(max_connections=times),
        ) as http:
            questions = [{"message": {"text": f"number {number}"}} for number in range(times)]
            answers.extend(await asyncio.gather(*(http.post(f"/api/agents/{agent}", json=body) for body in questions)))
        await says("all asked")(exchange)

    return behave
