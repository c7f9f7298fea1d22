"""Agents asking agents: a run is opened below the one that asks, and its end waited for, wherever it executes."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from django.conf import settings
from psycopg.errors import ForeignKeyViolation, UniqueViolation

from accounts.quotas import refusal_of_an_agent
from common.errors import AgentFailed, Canceled, FixieError, InvalidRequest, NotFound, Unauthenticated
from common.handles import AGENT_ID, HANDLE, SITE_OWNER
from registry.limits import limits_by_id
from sessions_app import attachments, children, frames, leases, transcript
from sessions_app.asked import switched_off
from sessions_app.children import AgentCall, CallEnding, CallOutcome
from sessions_app.llm.format import Kind, marker, read_step
from sessions_app.references import Embeds, naming
from sessions_app.runner.identity import PROCESS
from sessions_app.runner.live import Frame, Subscription, grown, hub
from sessions_app.store import LeaseLostError

# A wake-up may be lost; the end is looked for in the database this often, in seconds.
LOOK_AGAIN = 1.0

# Starts a run that this process was given.
Adopt = Callable[[UUID], Awaitable[None]]
OnText = Callable[[str], None]

_openings: set[asyncio.Task["Opened"]] = set()


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent's question that was accepted, and where it stands; `again` where it had been asked before."""

    session_id: int
    session: str
    run: UUID
    seq: int
    status: str
    again: bool = False


def owners_and_handle(name: str, *, asker: str) -> tuple[tuple[str, ...], str]:
    """Whose agent `name` may be, the first choice first, and its handle: what an agent's program or few-shots say.

    Raises NotFound where that is no name.
    """
    if match := AGENT_ID.fullmatch(name):
        return (match[1],), match[2]
    if HANDLE.fullmatch(name):
        return (asker.partition("/")[0], SITE_OWNER), name
    raise _unknown(name)


def call_text(name: str, text: str) -> str:
    """An agent's question as it is stored."""
    return f"{marker(Kind.ASK_AGENT, name)} {text}".rstrip()


async def open_child(call: AgentCall, adopt: Adopt, own: Mapping[str, UUID]) -> Opened:
    """Accepts an agent's question, its `own` embeds by the keys that its text uses, and begins to answer it.

    The same question (by `call.run`) again is the one that is at work, or has ended. Raises NotFound, AgentSwitchedOff,
    RateLimited, QuotaExceeded, InvalidRequest where one of the bounds is reached, Canceled where the asking run is to
    stop, LeaseLostError where it is not at work under this lease; then nothing is kept.
    """
    # Whoever asked may leave in this very moment. What is accepted all the same is answered all the same.
    opening = asyncio.create_task(_open(call, adopt, own))
    _openings.add(opening)
    opening.add_done_callback(_openings.discard)
    return await asyncio.shield(opening)


async def _open(call: AgentCall, adopt: Adopt, own: Mapping[str, UUID]) -> Opened:
    _check_depth(call)

    async def accept(text: str, embeds: Embeds) -> CallOutcome:
        return await children.accept(replace(call, text=text, embeds=embeds), PROCESS)

    try:
        outcome, text, embeds = await attachments.storing(
            call.text, own, accept, run=call.parent, session__handle=call.session
        )
    except UniqueViolation:
        outcome = None
    except ForeignKeyViolation:
        raise NotFound("One of the embeds has been removed meanwhile.", field="embeds") from None
    if outcome is None or outcome.session_id is None or outcome.seq is None or outcome.created is None:
        return await _not_accepted(call, adopt, own, outcome)
    message = frames.message_frame(
        seq=outcome.seq,
        kind="agent_call",
        text=text,
        run=call.run,
        agent=call.asker,
        in_reply_to=outcome.in_reply_to,
        created=outcome.created,
        embeds=await attachments.frame_of(outcome.session_id, embeds.keys),
    )
    state = frames.run_frame(
        run=call.run,
        status="in_progress",
        query=outcome.seq,
        agent=outcome.agent_id,
        parent=call.parent,
        times=frames.Times(outcome.created, outcome.created),
    )
    for frame in (message, state):
        hub().publish(outcome.session_id, frame)
    await adopt(call.run)
    return Opened(outcome.session_id, call.session, call.run, outcome.seq, "in_progress")


async def _not_accepted(call: AgentCall, adopt: Adopt, own: Mapping[str, UUID], outcome: CallOutcome | None) -> Opened:
    """The question as it was accepted before. Raises why it cannot be."""
    place = await transcript.run_of(call.run, user=call.user, jti=None)
    if place is not None:
        await adopt(call.run)
        return Opened(place.session_id, place.session, call.run, place.query_seq, place.status, again=True)
    if outcome is None or outcome.session_id is None or not outcome.top_found:
        raise LeaseLostError(str(call.parent))
    refusal = await _refusal(call, outcome)
    if refusal is not None:
        raise refusal
    # The day has ended in this moment, or the limit has been raised.
    return await _open(call, adopt, own)


async def _refusal(call: AgentCall, outcome: CallOutcome) -> FixieError | None:
    """Why the question was not accepted; None where nothing stands in its way any more."""
    if not outcome.caller_found:
        return Unauthenticated("The user is no longer active.")
    if outcome.canceled:
        return Canceled("The query was stopped.")
    if outcome.agent is None or outcome.agent_id is None or outcome.agent_calls is None:
        off = await switched_off(user=call.user, owners=call.owners, handle=call.handle, chain=call.chain)
        return off or _unknown("/".join([*call.owners, call.handle]) if len(call.owners) == 1 else call.handle)
    if outcome.agent_id in call.chain:
        return _circle(call, outcome.agent_id)
    limit = settings.RUN_MAX_AGENT_CALLS
    if outcome.agent_calls >= limit:
        return InvalidRequest(f"For this query agents have been asked {limit} times; that is the most.", limit=limit)
    limits = await limits_by_id(outcome.agent)
    return await refusal_of_an_agent(user=call.user, agent=limits) if limits else None


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no agent {name} that can be asked here.", field="agent", agent=name)


def _circle(call: AgentCall, agent: str) -> InvalidRequest:
    line = " → ".join([*call.chain[call.chain.index(agent) :], agent])
    problem = "An agent cannot ask itself" if agent == call.asker else "Agents cannot ask in a circle"
    return InvalidRequest(f"{problem}: {line}.", field="agent", agent=agent)


def _check_depth(call: AgentCall) -> None:
    limit = settings.AGENT_MAX_DEPTH
    if len(call.chain) > limit:
        line = " → ".join([*call.chain, call.handle])
        problem = f"Agents may ask one another {limit} deep; {line} goes too far."
        raise InvalidRequest(problem, field="agent", limit=limit)


async def answer_to(call: AgentCall, name: str, opened: Opened, on_text: OnText | None) -> str:
    """The answer as it is stored (`Agent[x] says: …`), and naming all of its embeds, once it is there.

    Raises AgentFailed, which says that `name` has failed and why (`details`: `reason`, the code that its run ended
    with, and whether it `has_acted`); Canceled where the asking run is to stop, too.
    """
    ending = await _ending(opened, on_text)
    if ending.status == "completed":
        return naming(ending.text or "", ending.embed_keys or ())
    if ending.status == "canceled" and await leases.is_canceled(call.parent):
        raise Canceled("The query was stopped.")
    words = "It was stopped." if ending.status == "canceled" else ending.text
    raise AgentFailed(
        f"{could_not_answer(name)}{words}", agent=name, reason=ending.error_code, has_acted=ending.has_acted
    )


def could_not_answer(name: str) -> str:
    """How the failure of an agent begins that was asked."""
    return f"{name} could not answer: "


async def _ending(opened: Opened, on_text: OnText | None) -> CallEnding:
    """How the run has ended, once it has. What it writes meanwhile is handed to `on_text`."""
    subscription = hub().subscribe(opened.session_id)
    growing = _Growing(opened.run, on_text)
    try:
        growing.take(hub().ask_snapshot(opened.run))
        while (ending := await children.ending_of(opened.run)) is None:
            await _until_woken(subscription, growing)
        return ending
    finally:
        subscription.close()


async def _until_woken(subscription: Subscription, growing: "_Growing") -> None:
    """Until the run seems to have ended, or it is time to look."""
    run = str(growing.run)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LOOK_AGAIN):
            while (frame := await subscription.next_frame()) is not None:
                if frame.get("run") != run:
                    continue
                if frame["type"] == "run" and frame["status"] != "in_progress":
                    return
                growing.take(frame)
    subscription.lagged = False


class _Growing:
    """The answer that a run is writing, put together from its frames."""

    def __init__(self, run: UUID, on_text: OnText | None) -> None:
        self.run = run
        self._text = ""
        self._on_text = on_text

    def take(self, frame: Frame | None) -> None:
        if frame is None or self._on_text is None or frame["type"] not in ("delta", "snapshot"):
            return
        if frame["type"] == "delta" and frame["offset"] > len(self._text):
            self.take(hub().ask_snapshot(self.run))
            return
        before, self._text = self._text, grown(self._text, frame)
        if self._text != before:
            self._on_text(self._text)


def said(output: str) -> str:
    """What stands behind `Agent[x] says:`."""
    return read_step(output).text
