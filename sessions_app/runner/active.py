"""A run that this process executes: what answers a query sees of it (`RunContext`)."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn
from uuid import uuid5

from django.conf import settings

from accounts import tokens
from common.errors import AgentFailed, Canceled, InvalidRequest
from common.handles import split_address
from registry.routing import router
from registry.routing.router import Route
from registry.specs import AgentSpec
from registry.transports.base import AgentMessage, Call, EmbedRef, Exchange, Manifest, Transport, reply_of
from registry.transports.catalog import transport
from sessions_app import attachments, contexts, fetching, frames, store, transcript
from sessions_app.children import AgentCall, is_below_stranger
from sessions_app.frames import Frame
from sessions_app.leases import Lease
from sessions_app.llm.base import Usage
from sessions_app.references import named, naming
from sessions_app.runner import children, documents
from sessions_app.runner.children import Adopt
from sessions_app.runner.context import Step
from sessions_app.runner.live import Hub, LiveRun
from sessions_app.store import Appended

# What an agent is handed outlives the run by this much, in seconds, so that its own calls back still work.
SLACK = 60.0
# More tokens than any run can use, and not more than the database holds of both kinds together: agents say theirs.
TOKENS_MAX = 1_000_000_000
# Steps that are kept as messages of the runs below: `store.append` counts them there.
OF_OTHER_RUNS = ("agent_call", "agent_output")


@dataclass(slots=True)
class ActiveRun:
    """Implements `RunContext` over a lease, an agent and the live text."""

    lease: Lease
    spec: AgentSpec
    live: LiveRun
    hub: Hub
    adopt: Adopt
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
        text = query_text(self.lease.query, self.agent_id)
        return AgentMessage(naming(text, self.lease.embed_keys) if self.spec.transport == "code_shot" else text)

    @property
    def embed_keys(self) -> Sequence[int]:
        return self.lease.embed_keys

    @property
    def transport(self) -> Transport:
        return transport(self.spec.transport)

    @property
    def chain(self) -> tuple[str, ...]:
        """The agents above this one, from the top."""
        return self.lease.asking.chain if self.lease.asking else ()

    async def history(self) -> list[Exchange]:
        """Nothing where an agent asks: what users said before, they did not say to this agent."""
        if self.lease.asking is not None:
            return []
        return await history_before(self.lease.session_id, self.lease.query_seq)

    async def append(self, kind: str, text: str, embeds: Mapping[str, EmbedRef] | None = None) -> Step:
        lease = self.lease
        message = AgentMessage(text, embeds or {})
        text, own = await fetching.received(message, owner=lease.user, seconds=settings.AGENT_CALL_TIMEOUT)
        append = partial(store.append, run=lease.run, epoch=lease.epoch, step=self._own_steps(), kind=kind)
        stored, text, kept = await attachments.storing(text, own, append, run=lease.run, session__id=lease.session_id)
        return self._published(kind, text, stored, await attachments.frame_of(lease.session_id, kept.keys))

    async def append_all(self, steps: Sequence[tuple[str, str]]) -> list[Step]:
        lease = self.lease
        stored = await store.append_all(run=lease.run, epoch=lease.epoch, step=self._own_steps(), steps=steps)
        return [self._published(kind, text, place, {}) for (kind, text), place in zip(steps, stored, strict=True)]

    def _own_steps(self) -> int:
        return sum(step.kind not in OF_OTHER_RUNS for step in self.steps)

    def _published(self, kind: str, text: str, stored: Appended, embeds: Frame) -> Step:
        """A stored step, after those who follow the session have been told of it."""
        lease = self.lease
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
            embeds=embeds,
        )
        self.hub.publish(lease.session_id, frame)
        return step

    async def call_func(self, step: Step, func: str, text: str) -> AgentMessage:
        known = await attachments.known_of(self.lease.run, named(text))
        call = await self._call(text, known, number=step.number, func=func)
        return await reply_of(self.transport, self.spec.deployment, call)

    async def query_call(self) -> Call:
        """The call that hands over the query, with its own embeds and those of the session that its user names."""
        text = self.query.text
        # What was attached by nobody yet when the query was posted, and stood in line, may be there now.
        others = named(text) if self.lease.asking is None else ()
        call = await self._call(text, {*self.lease.embed_keys, *others}, number=0)
        return replace(
            call,
            session=self.lease.session,
            user=str(self.lease.user),
            history=await self.history() if self.transport.wants_history else (),
            context=await self._context() if self.transport.keeps_context else {},
        )

    async def _context(self) -> Mapping[str, Any]:
        return await contexts.context_of(session=self.lease.session_id, agent=self.spec.agent)

    async def keep_context(self, context: Mapping[str, Any]) -> None:
        """Keeps what the agent is to be handed with its next call in the session. Raises AgentInvalidResponse."""
        await contexts.keep_context(context, session=self.lease.session_id, agent=self.spec.agent)

    async def _call(self, text: str, embeds: Collection[int], *, number: int, func: str | None = None) -> Call:
        """The call of step `number` (0: the query itself), signed where it leaves this process."""
        token = "" if self.spec.transport == "internal" else await self._token()
        return Call(
            message=AgentMessage(text, await attachments.handed(self.lease.session_id, embeds, self._lifetime())),
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
            chain=self.chain,
        )
        return await tokens.asign_call_token(claims, lifetime=self._lifetime())

    def _lifetime(self) -> float:
        """Seconds that a call's token, and links to embeds, are good for."""
        return seconds_left(self.lease) + SLACK

    async def route(self, text: str, k: int) -> Route:
        user = None if await is_below_stranger(self.chain, user=self.lease.user) else self.lease.user
        return await router.route(text, user=user, k=k, exclude=(*self.chain, self.agent_id))

    async def ask_agent(self, agent: str, text: str, *, on_text: Callable[[str], None] | None = None) -> AgentMessage:
        call, is_open = self._agent_call(agent, text)
        try:
            opened = await children.open_child(call, self.adopt, own={})
            if not is_open:
                self.steps.append(Step(len(self.steps) + 1, "agent_call", call.text))
            output = await children.answer_to(call, agent, opened, on_text)
        except InvalidRequest as error:  # by the agent, not by the user
            raise AgentFailed(error.message, **error.details) from None
        except Canceled:
            await self._stopped()
        self.steps.append(Step(len(self.steps) + 1, "agent_output", output))
        return AgentMessage(children.said(output))

    def _agent_call(self, agent: str, text: str) -> tuple[AgentCall, bool]:
        """The call that asks an agent; and whether it is the last step already, which waits for its answer."""
        told = children.call_text(agent, text)
        is_open = bool(self.steps) and (self.steps[-1].kind, self.steps[-1].text) == ("agent_call", told)
        number = len(self.steps) + (0 if is_open else 1)
        owners, handle = children.owners_and_handle(agent, asker=self.agent_id)
        call = AgentCall(
            run=uuid5(self.lease.run, str(number)),
            parent=self.lease.run,
            epoch=self.lease.epoch,
            step=number,
            session=self.lease.session,
            user=self.lease.user,
            asker=self.agent_id,
            owners=owners,
            handle=handle,
            chain=(*self.chain, self.agent_id),
            text=told,
        )
        return call, is_open

    async def _stopped(self) -> NoReturn:
        """Ends this run as one that was told to stop, although the word has not come yet."""
        self.live.cancel()
        await asyncio.get_running_loop().create_future()
        raise AssertionError("A run that is canceled goes on.")

    async def query_corpus(self, question: str) -> str:
        return await documents.query_corpus(self.spec.agent, question)

    async def query_embed(self, text: str) -> str:
        return await documents.query_embed(self.lease.session_id, text, await attachments.known(self.lease.run))

    def write(self, text: str) -> None:
        self.live.write(text)

    def rewrite(self, text: str) -> None:
        self.live.rewrite(text)

    def count(self, usage: Usage) -> None:
        self.usage = Usage(
            min(self.usage.prompt_tokens + usage.prompt_tokens, TOKENS_MAX),
            min(self.usage.completion_tokens + usage.completion_tokens, TOKENS_MAX),
        )


def query_text(query: str, agent_id: str) -> str:
    """What an agent is handed of a user's text: all but its own address at the start."""
    address, rest = split_address(query)
    is_own = address is not None and f"/{agent_id}".endswith(f"/{address}")
    return rest if is_own and rest else query


async def history_before(session_id: int, query_seq: int) -> list[Exchange]:
    """What was asked and answered in a session before a query, oldest first (bounded)."""
    pairs = await transcript.exchanges_before(session_id, query_seq)
    return [Exchange(split_address(query)[1], answer) for query, answer in pairs]


def seconds_left(lease: Lease) -> float:
    """Until the run must have ended, together with the one at the top."""
    return float(settings.RUN_MAX_SECONDS) - (datetime.now(UTC) - lease.started).total_seconds()
