"""Each way in: asks an agent, and lets somebody who asked think better of it."""

import asyncio
import base64
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from websockets.exceptions import WebSocketException

from sessions_app.follow import ENDED
from tests.sessions_app.people import Person
from tests.sessions_app.sockets import Frame, socket_to, texts
from tests.sites import Site

SEND = """mutation($data: SendSessionMessageInput!) {
    sendSessionMessage(messageData: $data) { response { text } }
}"""


@dataclass(frozen=True)
class Said:
    """What came of a question: the answer, or how the edge said that there is none."""

    text: str = ""
    error: str = ""


class Edge(ABC):
    """One protocol that clients speak. A session is new with every question.

    What is asked is sent with the person's key, or with another `key`: empty is none.
    """

    name: ClassVar[str]

    def __init__(self, site: Site, person: Person, key: str | None = None) -> None:
        self.site = site
        self.person = person
        self.key = person.key if key is None else key

    @abstractmethod
    async def ask(self, agent: str, text: str, *, attached: str | None = None) -> Said:
        """Asks, with a plain text `attached` as embed `1` where there is one, and waits for all of it."""

    async def take_back(self, asking: "asyncio.Task[Said]") -> None:
        """Stops what is being asked, in the edge's own way; here by the run's id, as REST does."""
        (run,) = await asyncio.to_thread(self._runs)
        answer = await asyncio.to_thread(self.person.http.post, f"/api/runs/{run}/cancel")
        assert answer.status_code == 202, answer.text
        assert (await asking).error

    def _runs(self) -> list[str]:
        return [run for session in self.sessions() for run in session["runs"]]

    def sessions(self) -> list[Any]:
        return list(self.person.http.get("/api/sessions").json()["items"])

    async def with_embed(self, attached: str) -> str:
        """The handle of a session whose embed `1` holds this: for edges that bring no files of their own."""
        session = await asyncio.to_thread(self.person.new_session)
        answer = await self.post(f"/api/sessions/{session}/messages", {"text": "#1", **_embeds(attached)})
        assert answer.status_code == 202, answer.text
        await asyncio.to_thread(self.person.settled, session)
        return session

    async def post(self, address: str, document: Any, **options: Any) -> httpx2.Response:
        async with self.site.async_client(self.key) as http:
            return await http.post(address, json=document, **options)


def _embeds(attached: str | None) -> dict[str, Any]:
    return {} if attached is None else {"embeds": {"1": {"content_type": "text/plain", "uri": data_uri(attached)}}}


def data_uri(text: str) -> str:
    return f"data:text/plain;base64,{base64.b64encode(text.encode()).decode()}"


class Rest(Edge):
    name = "REST"

    async def ask(self, agent: str, text: str, *, attached: str | None = None) -> Said:
        answer = await self.post(f"/api/agents/{agent}", {"message": {"text": text, **_embeds(attached)}})
        document = answer.json()
        return Said(error=document["error"]["message"]) if "error" in document else Said(document["message"]["text"])


class JsonLines(Edge):
    name = "JSON lines"

    async def ask(self, agent: str, text: str, *, attached: str | None = None) -> Said:
        asked = {"message": {"text": text, **_embeds(attached)}, "stream": True}
        answer = await self.post(f"/api/agents/{agent}", asked)
        last = json.loads(answer.text.splitlines()[-1])
        return Said(error=last["error"]["message"]) if "error" in last else Said(last["message"]["text"])


class GraphQL(Edge):
    name = "GraphQL"

    async def ask(self, agent: str, text: str, *, attached: str | None = None) -> Said:
        session = await self.with_embed(attached) if attached else await asyncio.to_thread(self.person.new_session)
        data = {"session": session, "text": f"@{agent} {text}"}
        answer = await self.post("/graphql", {"query": SEND, "variables": {"data": data}})
        found = answer.json()
        if found.get("errors"):
            return Said(error=found["errors"][0]["message"])
        return Said(found["data"]["sendSessionMessage"]["response"]["text"])


class WebSocket(Edge):
    name = "WebSocket"

    async def ask(self, agent: str, text: str, *, attached: str | None = None) -> Said:
        session = await asyncio.to_thread(self.person.new_session)
        embeds = {"embeds": {"1": {"id": await self._uploaded(attached)}}} if attached is not None else {}
        try:
            async with socket_to(self.site, session, self.key) as socket:
                await socket.synced()
                await socket.send(type="message", text=f"@{agent} {text}", **embeds)
                frames = await socket.until(_is_over)
        except WebSocketException as error:
            return Said(error=str(error))
        if frames[-1]["type"] == "error":
            return Said(error=frames[-1]["message"])
        answers = texts(frames, "response")
        return Said(answers[0]) if answers else Said(error=[*texts(frames, "error"), "stopped"][0])

    async def _uploaded(self, content: str) -> str:
        async with self.site.async_client(self.person.key) as http:
            answer = await http.post("/api/embeds", files={"file": ("notes.txt", content.encode(), "text/plain")})
            assert answer.status_code == 201, answer.text
            return str(answer.json()["id"])


def _is_over(frame: Frame) -> bool:
    return frame["type"] == "error" or (frame["type"] == "run" and frame["status"] in ENDED)


class AgentApi(Edge):
    name = "/process"

    async def ask(self, agent: str, text: str, *, attached: str | None = None) -> Said:
        answer = await self.post(f"/agents/{agent}/process", _agent_request(text, attached))
        if answer.status_code != 200:
            return Said(error=answer.json()["error"]["message"])
        frames = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
        last = frames[-1]
        assert last["object"] == "response", last
        if last["status"] != "completed":
            return Said(error=last["error"]["message"])
        return Said(last["output"][-1]["content"][0]["text"])

    async def take_back(self, asking: "asyncio.Task[Said]") -> None:
        asking.cancel()  # the request asks for that to stop it
        await asyncio.wait([asking])


def _agent_request(text: str, attached: str | None) -> Any:
    content: list[Any] = [{"type": "text", "text": text}]
    if attached is not None:
        content.append({"type": "file", "filename": "notes.txt", "file_url": data_uri(attached)})
    return {"input": [{"role": "user", "type": "message", "content": content}], "cancel_on_disconnect": True}


class Mcp(Edge):
    name = "MCP"

    async def ask(self, agent: str, text: str, *, attached: str | None = None) -> Said:
        named = {"session": await self.with_embed(attached)} if attached else {}
        task = {"task_type": "", "prompt": text, "agent_id": agent, **named}
        try:
            async with (
                self.site.async_client(self.key) as http,
                Client(streamable_http_client(f"{self.site.url}/mcp", http_client=http)) as client,
            ):
                return await _delegated(client, task)
        except ExceptionGroup as error:  # of the connection
            return Said(error=str(error))

    async def take_back(self, asking: "asyncio.Task[Said]") -> None:
        asking.cancel()  # the client says so: `notifications/cancelled`
        await asyncio.wait([asking])


async def _delegated(client: Client, task: dict[str, Any]) -> Said:
    try:
        result = await client.call_tool("delegate_task", task)
    except MCPError as error:
        return Said(error=error.error.message)
    words = result.content[0].text
    return Said(error=words) if result.is_error else Said(words)


EDGES = {edge.name: edge for edge in (Rest, JsonLines, GraphQL, WebSocket, AgentApi, Mcp)}
