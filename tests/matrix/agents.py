"""One agent of each transport, which all understand the same four requests."""

import asyncio
import json
import sys
import tempfile
import threading
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from tests.agents import Behaviour, Exchange, ScriptedAgent, answer
from tests.sessions_app.people import Person

HELLO, LOOK, FAIL, WAIT = "Say hello", "What is #1?", "Boil the kettle", "Wait for me"
GREETING, FAILURE = "Hello there", "The kettle is empty."
CONTENT_TYPE = "text/plain"


class Waiting:
    """Where requests to wait end up: `begun` once one has come, `left` once nobody waits for its answer any more."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.left = threading.Event()

    async def forever(self) -> None:
        self.begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.left.set()


class Subject(ABC):
    """An agent of one transport, which belongs to `owner`; `agent` is its `owner/handle`."""

    transport: ClassVar[str]
    # What it says to a LOOK, where its embed is of CONTENT_TYPE.
    seen: ClassVar[str] = f"It is {CONTENT_TYPE}"

    def __init__(self, server: ScriptedAgent, owner: Person) -> None:
        self.server = server
        self.waiting = Waiting()
        self.handle = f"{self.transport.replace('_', '-')}-{uuid.uuid4().hex[:6]}"
        self.agent = self.registered(owner)

    @abstractmethod
    def registered(self, owner: Person) -> str: ...

    def has_begun(self) -> bool:
        """Whether it is at work on a WAIT."""
        return self.waiting.begun.is_set()

    def has_been_left(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.waiting.left.is_set()

    def at_its_address(self, owner: Person, *, path: str = "", **fields: str) -> str:
        address = f"{self.server.url}/{self.handle}{path}"
        document = {"handle": self.handle, "published": True, "deployment_url": address, **fields}
        made = owner.http.post("/api/agents", json=document)
        assert made.status_code == 201, made.text
        assert made.json()["revision"]["state"] == "ready", made.text
        return str(made.json()["agent_id"])


class CodeShot(Subject):
    transport = "code_shot"

    def registered(self, owner: Person) -> str:
        shots = [
            f"Q: {HELLO}\nAsk Func[greet]: {HELLO}\nFunc[greet] says: {GREETING}\nA: {GREETING}",
            f"Q: What is ##1?\nAsk Func[look]: ##1\nFunc[look] says: {self.seen}\nA: {self.seen}",
            f"Q: {FAIL}\nAsk Func[boil]: {FAIL}\nFunc[boil] says: Done\nA: Done",
            f"Q: {WAIT}\nAsk Func[wait]: {WAIT}\nFunc[wait] says: Done\nA: Done",
        ]
        manifest = {"type": "code_shot", "base_prompt": "I am made for tests.", "few_shots": shots}
        self.server.on(f"/{self.handle}", answer(manifest), method="GET")
        for func in ("greet", "look", "boil", "wait"):
            self.server.on(f"/{self.handle}/{func}", _replies(self.waiting))
        return self.at_its_address(owner)


class QueryHttp(Subject):
    transport = "query_http"

    def registered(self, owner: Person) -> str:
        self.server.on(f"/{self.handle}", _replies(self.waiting))
        return self.at_its_address(owner)


class AgentScope(Subject):
    transport = "agentscope"

    def registered(self, owner: Person) -> str:
        self.server.on(f"/{self.handle}/process", self._process)
        return self.at_its_address(owner, path="/process", protocol="agentscope")

    async def _process(self, exchange: Exchange) -> None:
        content = exchange.request.json["input"][-1]["content"]
        text = " ".join(part["text"] for part in content if part["type"] == "text")
        if WAIT in text:
            await self.waiting.forever()
        attached = [part for part in content if part["type"] != "text"]
        await _server_sent(exchange, _failed() if FAIL in text else _said(_reply_to(text, bool(attached))))


class Stdio(Subject):
    transport = "stdio_jsonrpc"

    def registered(self, owner: Person) -> str:
        from accounts.models import User
        from registry.actions import create_agent
        from registry.commands import deploy_command
        from registry.transports.stdio_jsonrpc.options import CommandLine

        agent = create_agent(by=owner.user, handle=self.handle, published=True)
        program = Path(__file__).parent / "program.py"
        command = CommandLine(command=sys.executable, args=(str(program), str(self.mark)))
        # Only administrators set commands, whoever the agent belongs to.
        administrator = User.objects.create_user(f"admin-{self.handle}", is_superuser=True)
        deploy_command(agent=agent, by=administrator, command=command)
        return agent.agent_id

    @property
    def mark(self) -> Path:
        """Where the program writes the number of its process when it waits."""
        return Path(tempfile.gettempdir()) / f"{self.handle}.pid"

    def has_begun(self) -> bool:
        return self.mark.exists() and bool(self.mark.read_text())

    def has_been_left(self) -> bool:
        return not Path(f"/proc/{self.mark.read_text()}").exists()


SUBJECTS = {subject.transport: subject for subject in (CodeShot, QueryHttp, AgentScope, Stdio)}


def _reply_to(text: str, attached: bool) -> str:
    if HELLO in text:
        return GREETING
    return Subject.seen if attached else "There is nothing."


def _replies(waiting: Waiting) -> Behaviour:
    """Queries and Func calls: both are `{"message": {"text", "embeds"}}`."""

    async def behave(exchange: Exchange) -> None:
        message = exchange.request.json["message"]
        if WAIT in message["text"]:
            await waiting.forever()
        if FAIL in message["text"]:
            await answer({"message": {"text": FAILURE}}, status=500)(exchange)
            return
        types = [embed["content_type"].partition(";")[0] for embed in message["embeds"].values()]
        await answer({"message": {"text": _reply_to(message["text"], types == [CONTENT_TYPE])}})(exchange)

    return behave


def _said(text: str) -> list[dict[str, object]]:
    message = {"object": "message", "id": "msg_1", "type": "message", "role": "assistant"}
    content = {"object": "content", "type": "text", "index": 0, "msg_id": "msg_1", "text": text}
    return [
        {"object": "response", "id": "response_1", "status": "created"},
        {**message, "status": "created"},
        {**content, "status": "in_progress", "delta": True},
        {**content, "status": "completed", "delta": False},
        {**message, "status": "completed", "content": [content]},
        {"object": "response", "id": "response_1", "status": "completed"},
    ]


def _failed() -> list[dict[str, object]]:
    error = {"code": "kettle", "message": FAILURE}
    return [{"object": "response", "id": "response_1", "status": "failed", "error": error}]


async def _server_sent(exchange: Exchange, events: list[dict[str, object]]) -> None:
    numbered = [{"sequence_number": number, **event} for number, event in enumerate(events)]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in numbered).encode()
    await answer(body=body, content_type="text/event-stream")(exchange)
