"""Agents that the Fixie agent can find, for its tests: each knows queries that no other test speaks of."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from tests.agents import Behaviour, Request, ScriptedAgent
from tests.sessions_app.people import Json, wait_until

# Until the samples of a new agent are in the index, on a busy machine. Seconds.
INDEXED = 30.0


@dataclass(frozen=True)
class Zoo:
    """Registers agents of `http`'s user that run at `server`."""

    server: ScriptedAgent
    http: httpx2.Client

    def agent(self, behaviour: Behaviour, *queries: str, **fields: Any) -> str:
        """The id of a new agent that behaves so, once it is found by its queries."""
        handle = f"agent-{uuid.uuid4().hex[:8]}"
        self.server.on(f"/{handle}", behaviour)
        agent = {"handle": handle, "deployment_url": f"{self.server.url}/{handle}", "queries": list(queries), **fields}
        answer = self.http.post("/api/agents", json=agent)
        assert answer.status_code == 201, answer.text
        agent_id = str(answer.json()["agent_id"])
        if queries:
            wait_until(lambda: agent_id in self._candidates(queries[0]), INDEXED)
        return agent_id

    def _candidates(self, text: str) -> list[str]:
        answer = self.http.post("/api/route", json={"text": text, "k": 10})
        assert answer.status_code == 200, answer.text
        return [candidate["agent"] for candidate in answer.json()["candidates"]]

    def calls(self, agent: str) -> list[Request]:
        path = f"/{agent.partition('/')[2]}"
        return [request for request in self.server.requests if (request.method, request.path) == ("POST", path)]

    def asked(self, agent: str) -> list[str]:
        """What the agent was asked, in the order of arrival."""
        return [str(call.json["message"]["text"]) for call in self.calls(agent)]


def kinds(messages: Sequence[Json]) -> list[str]:
    return [message["kind"] for message in messages]


def routed(messages: Sequence[Json]) -> list[tuple[str, str]]:
    """What was routed, and what was said of it."""
    texts = [message["text"] for message in messages if "Func[fixie_route]" in message["text"]]
    calls = [text.removeprefix("Ask Func[fixie_route]: ") for text in texts[::2]]
    return list(zip(calls, (text.removeprefix("Func[fixie_route] says: ") for text in texts[1::2]), strict=True))
