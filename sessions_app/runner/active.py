"""A run that this process executes: what answers a query sees of it (`RunContext`)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from django.conf import settings

from accounts import tokens
from common.handles import split_address
from registry.specs import AgentSpec
from registry.transports.base import AgentMessage, Call, EmbedRef, Manifest, Transport, reply_of
from registry.transports.catalog import transport
from sessions_app import attachments, fetching, frames, store, transcript
from sessions_app.leases import Lease
from sessions_app.llm.base import Usage
from sessions_app.references import named, naming
from sessions_app.runner.context import Exchange, Step
from sessions_app.runner.live import Hub, LiveRun

# What an agent is handed outlives the run by this much, in seconds, so that its own calls back still work.
SLACK = 60.0


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
        """What the user wrote, without this agent's own address at its start.

        A Code Shot agent's model sees nothing but the text: there it names all embeds that came with it.
        """
        address, rest = split_address(self.lease.query)
        text = rest if address == self.agent_id and rest else self.lease.query
        return AgentMessage(naming(text, self.lease.embed_keys) if self.spec.transport == "code_shot" else text)

    @property
    def transport(self) -> Transport:
        return transport(self.spec.transport)

    async def history(self) -> list[Exchange]:
        pairs = await transcript.exchanges_before(self.lease.session_id, self.lease.query_seq)
        return [Exchange(split_address(query)[1], answer) for query, answer in pairs]

    async def append(self, kind: str, text: str, embeds: Mapping[str, EmbedRef] | None = None) -> Step:
        lease = self.lease
        message = AgentMessage(text, embeds or {})
        text, own = await fetching.received(message, owner=lease.user, seconds=settings.AGENT_CALL_TIMEOUT)
        append = partial(store.append, run=lease.run, epoch=lease.epoch, step=len(self.steps), kind=kind)
        stored, text, kept = await attachments.storing(text, own, append, session__id=lease.session_id)
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
            embeds=await attachments.frame_of(lease.session_id, kept.keys),
        )
        self.hub.publish(lease.session_id, frame)
        return step

    async def call_func(self, step: Step, func: str, text: str) -> AgentMessage:
        call = await self._call(text, named(text), number=step.number, func=func)
        return await reply_of(self.transport, self.spec.deployment, call)

    async def query_call(self) -> Call:
        """The call that hands over the query, with its own embeds and those of the session that it names."""
        text = self.query.text
        return await self._call(text, {*self.lease.embed_keys, *named(text)}, number=0)

    async def _call(self, text: str, embeds: Collection[int], *, number: int, func: str | None = None) -> Call:
        """The call of step `number` (0: the query itself), signed where it leaves this process."""
        token = "" if self.spec.transport == "internal" else await self._token()
        return Call(
            message=AgentMessage(text, await attachments.handed(self.lease.session_id, embeds, _lifetime())),
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
        return await tokens.asign_call_token(claims, lifetime=_lifetime())

    def write(self, text: str) -> None:
        self.live.write(text)

    def rewrite(self, text: str) -> None:
        self.live.rewrite(text)

    def count(self, usage: Usage) -> None:
        self.usage = Usage(
            self.usage.prompt_tokens + usage.prompt_tokens,
            self.usage.completion_tokens + usage.completion_tokens,
        )


def _lifetime() -> float:
    """Seconds that a call's token, and links to embeds, are good for."""
    return float(settings.RUN_MAX_SECONDS) + SLACK
