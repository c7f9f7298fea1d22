"""Agents with the tokens of their calls, and the users they keep something about, for the tests of User Storage."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx2

from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

Json = dict[str, Any]


@dataclass(frozen=True)
class Memory:
    """A storage as somebody reaches it: the agent whose it is, and a client that says who asks."""

    agent: str
    http: httpx2.Client

    @property
    def base(self) -> str:
        return f"/api/userstorage/{self.agent}"

    def url(self, key: str) -> str:
        """The address of a key, every character that means something to a URL encoded."""
        return f"{self.base}/{quote(key, safe='')}"

    def set(self, key: str, data: str, **headers: str) -> httpx2.Response:
        return self.http.post(self.url(key), json={"data": data}, headers=names_of(headers))

    def put(self, key: str, value: bytes, content_type: str = "image/png", **headers: str) -> httpx2.Response:
        headers = {"Content-Type": content_type, **names_of(headers)}
        return self.http.put(self.url(key), content=value, headers=headers)

    def get(self, key: str, **headers: str) -> httpx2.Response:
        return self.http.get(self.url(key), headers=names_of(headers))

    def delete(self, key: str, **headers: str) -> httpx2.Response:
        return self.http.delete(self.url(key), headers=names_of(headers))

    def keys(self, **query: Any) -> list[str]:
        answer = self.http.get(self.base, params=query)
        assert answer.status_code == 200, answer.text
        return [entry["key"] for entry in answer.json()]

    def usage(self) -> tuple[int, int]:
        """Keys and bytes, as the site counts them and as they lie there; the two must agree."""
        from django.db.models import Count, Sum
        from django.db.models.functions import Length

        from accounts.tokens import verify_call_token
        from storage_kv.models import StorageUsage, StoredValue

        user = verify_call_token(self.token).user_id
        owner, handle = self.agent.split("/")
        mine = {"user": user, "agent__owner__handle": owner, "agent__handle": handle}
        counted = StorageUsage.objects.filter(**mine).values_list("keys", "bytes").first() or (0, 0)
        there = StoredValue.objects.filter(**mine).aggregate(keys=Count("id"), bytes=Sum(Length("value")))
        assert counted == (there["keys"], there["bytes"] or 0)
        return counted

    @property
    def token(self) -> str:
        return str(self.http.headers["Authorization"]).removeprefix("Bearer ")


def names_of(headers: dict[str, str]) -> dict[str, str]:
    """`if_match` → `If-Match`."""
    return {name.replace("_", "-").title(): value for name, value in headers.items()}


def call_token(agent: str, user: "User", lifetime: float = 60) -> str:
    from accounts.tokens import CallClaims, sign_call_token

    claims = CallClaims(user_id=user.pk, agent_id=agent, session="brave-blue-cat", run="run-1", chain=())
    return sign_call_token(claims, lifetime=lifetime)


def error_of(answer: httpx2.Response, status: int, code: str) -> Json:
    """The answer's error, which must be this one."""
    assert answer.status_code == status, answer.text
    error: Json = answer.json()["error"]
    assert error["code"] == code, error
    assert error["message"].endswith("."), error
    return error


def memory(site: Site, agent: str, user: "User") -> Memory:
    """What `agent` keeps about `user`, as the agent itself reaches it."""
    return Memory(agent, site.client(call_token(agent, user)))


def at_once(storage: Memory, keys: list[str], value: str = "", **headers: str) -> list[httpx2.Response]:
    """The answers to writes of these keys, all sent at the same time over 20 connections."""

    async def write_all() -> list[httpx2.Response]:
        same = {**storage.http.headers, **names_of(headers)}
        limits = httpx2.Limits(max_connections=20)
        async with httpx2.AsyncClient(base_url=storage.http.base_url, headers=same, limits=limits, timeout=60) as http:
            return await asyncio.gather(*(http.post(storage.url(key), json={"data": value}) for key in keys))

    return asyncio.run(write_all())


def statuses(answers: list[httpx2.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)
