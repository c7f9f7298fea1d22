"""A run that this process executes: what answers a query sees of it (`RunContext`)."""

from dataclasses import dataclass, field

from django.conf import settings

from accounts import tokens
from common.handles import split_address
from registry.specs import AgentSpec
from registry.transports.base import AgentMessage, Call, Manifest, Transport, reply_of
from registry.transports.catalog import transport
from sessions_app import frames, store, transcript
from sessions_app.leases import Lease
from sessions_app.llm.base import Usage
from sessions_app.runner.context import Exchange, Step
from sessions_app.runner.live import Hub, LiveRun

# A call's token outlives the call by this much, in seconds, so that the agent's own calls back still work.
TOKEN_SLACK = 60.0


@dataclass(slots=True)
class ActiveRun:
    """Implements `RunContext` over a lease, an agent and the live text."""

    lease: Lease
    spec: AgentSpec
    live: LiveRun
    hub: Hub
    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    @property
    def agent_id(self) -> str:
        return self.spec.agent_id

    @property
    def manifest(self) -> Manifest:
        return self.spec.manifest

    @property
    def query(self) -> AgentMessage:
        """What the user wrote, without this agent's own address at its start."""
        named, rest = split_address(self.lease.query)
        return AgentMessage(rest if named == self.agent_id and rest else self.lease.query)

    @property
    def transport(self) -> Transport:
        return transport(self.spec.transport)

    async def history(self) -> list[Exchange]:
        pairs = await transcript.exchanges_before(self.lease.session_id, self.lease.query_seq)
        return [Exchange(split_address(query)[1], answer) for query, answer in pairs]

    async def append(self, kind: str, text: str) -> Step:
        lease = self.lease
        stored = await store.append(run=lease.run, epoch=lease.epoch, step=len(self.steps), kind=kind, text=text)
        step = Step(len(self.steps) + 1, kind, text)
        self.steps.append(step)
        frame = frames.message_frame(
            seq=stored.seq,
            kind=kind,
            text=text,
            run=lease.run,
            agent=self.agent_id,
            in_reply_to=lease.query_seq,
            created=stored.created,
        )
        self.hub.publish(lease.session_id, frame)
        return step

    async def call_func(self, step: Step, func: str, text: str) -> AgentMessage:
        call = await self.call(AgentMessage(text), number=step.number, func=func)
        return await reply_of(self.transport, self.spec.deployment, call)

    async def call(self, message: AgentMessage, *, number: int, func: str | None = None) -> Call:
        """The call of step `number` (0: the query itself), signed where it leaves this process."""
        token = "" if self.spec.transport == "internal" else await self._token()
        return Call(
            message=message,
            token=token,
            idempotency_key=f"{self.lease.run}/{number}",
            func=func,
            timeout=settings.AGENT_CALL_TIMEOUT,
        )

    async def _token(self) -> str:
        claims = tokens.CallClaims(
            user_id=self.lease.user,
            agent_id=self.agent_id,
            session=self.lease.session,
            run=str(self.lease.run),
            chain=(),
        )
        return await tokens.asign_call_token(claims, lifetime=settings.RUN_MAX_SECONDS + TOKEN_SLACK)

    def write(self, text: str) -> None:
        self.live.write(text)

    def rewrite(self, text: str) -> None:
        self.live.rewrite(text)

    def count(self, usage: Usage) -> None:
        self.usage = Usage(
            self.usage.prompt_tokens + usage.prompt_tokens,
            self.usage.completion_tokens + usage.completion_tokens,
        )
