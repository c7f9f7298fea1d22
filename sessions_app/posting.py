"""Posting queries: the async actions behind every edge."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from coolname import generate_slug
from django.conf import settings
from psycopg.errors import ForeignKeyViolation, UniqueViolation

from accounts.auth import Caller
from accounts.quotas import refusal_of_a_query
from common.errors import (
    FixieError,
    InvalidRequest,
    NotFound,
    SessionBusy,
    Unauthenticated,
)
from common.handles import SITE_OWNER, split_address, split_agent_id, split_agent_name
from common.ids import uuid7
from common.texts import clean_text
from registry.limits import limits_by_id
from sessions_app import attachments, frames, store, transcript
from sessions_app.access import MISSING
from sessions_app.asked import switched_off
from sessions_app.leases import Lease
from sessions_app.references import Embeds
from sessions_app.runner import execute
from sessions_app.runner.identity import PROCESS
from sessions_app.runner.live import hub
from sessions_app.stopping import stop
from sessions_app.store import Outcome, Query

IF_BUSY = ("enqueue", "reject", "interrupt")
CLIENT_ID_MAX = 200


@dataclass(frozen=True, slots=True)
class Posted:
    """An accepted query and its run's `status`. `running` tells whether the run began with this very call;
    `again` that the query had been posted before under the same client_id."""

    session_id: int
    session: str
    run: UUID
    seq: int
    status: str
    running: bool
    again: bool = False


def new_session_handle() -> str:
    """Three words, like `brave-otter-of-dawn`."""
    return generate_slug(3)


async def ask(
    caller: Caller,
    agent: tuple[str, str],
    text: str,
    *,
    embeds: Mapping[str, UUID] | None = None,
    session: str | None = None,
    run: UUID | None = None,
) -> Posted:
    """Posts a query to `agent` in a new session of the caller's. Raises FixieErrors; then nothing is kept.

    With `session`, a handle that nobody but this caller can have, the query goes into that session where it is there
    already. The same `run` again returns the query posted before.
    """
    query = _query(caller, session or new_session_handle(), agent, text, run or uuid7(), new=True, addressed=True)
    return await _post(replace(query, own=embeds or {}), keeps_handle=session is not None)


async def post(
    caller: Caller,
    session: str,
    text: str,
    *,
    agent: tuple[str, str] | None = None,
    embeds: Mapping[str, UUID] | None = None,
    if_busy: str = "enqueue",
    client_id: str | None = None,
    run: UUID | None = None,
) -> Posted:
    """Posts a query to a session of the caller's, with `embeds` of theirs by the keys that the text uses.

    It goes to `agent`, else to the one that the text starts with (`@owner/handle`, or `@handle`: their own, else the
    site's), else to the session's front agent. While another run is at work it waits (`enqueue`), is refused
    (`reject`), or stops that run first (`interrupt`). The same `client_id`, or the id of a `run`, again returns the
    query posted before. Raises FixieErrors; then nothing is kept.
    """
    if "\0" in session:  # on which PostgreSQL fails
        raise NotFound(MISSING, field="session")
    if if_busy not in IF_BUSY:
        raise InvalidRequest(f"if_busy must be one of {', '.join(IF_BUSY)}.", field="if_busy")
    named, rest = split_address(text)
    if agent is None and named is not None:
        if not rest.strip():
            raise InvalidRequest(f"There is no question after @{named}.", field="text")
        agent = split_agent_name(named)
    addressed = agent is not None
    agent = agent or split_agent_id(settings.DEFAULT_AGENT)
    reject = if_busy == "reject"
    run = run or run_id(caller, session, client_id)
    query = _query(caller, session, agent, text, run, new=False, addressed=addressed, reject=reject)
    return await _post(replace(query, own=embeds or {}), interrupt=if_busy == "interrupt")


def _query(
    caller: Caller,
    session: str,
    agent: tuple[str, str],
    text: str,
    run: UUID,
    *,
    new: bool,
    addressed: bool,
    reject: bool = False,
) -> Query:
    clean_text(text)
    return Query(
        user=caller.user_id,
        jti=caller.jti,
        run=run,
        session=session,
        new=new,
        agent=agent,
        addressed=addressed,
        text=text,
        reject_if_busy=reject,
    )


def run_id(caller: Caller, session: str, client_id: str | None) -> UUID:
    """A client's own id decides the run's id, so that posting twice collides instead of asking twice."""
    if client_id is None:
        return uuid7()
    if not 0 < len(client_id) <= CLIENT_ID_MAX:
        raise InvalidRequest(f"client_id must have 1 to {CLIENT_ID_MAX} characters.", field="client_id")
    return uuid5(NAMESPACE_URL, f"fixie:{caller.user_id}:{session}:{client_id}")


_adoptions: set[asyncio.Task[None]] = set()


async def _post(query: Query, *, interrupt: bool = False, keeps_handle: bool = False) -> Posted:
    try:
        accepted, outcome, embeds = await _accept(query)
    except asyncio.CancelledError:
        # The one who asked left in this very moment. What was accepted all the same is answered all the same.
        adoption = asyncio.create_task(execute.adopt(query.run))
        _adoptions.add(adoption)
        adoption.add_done_callback(_adoptions.discard)
        raise
    except UniqueViolation as error:
        if error.diag.constraint_name == "sessions_app_run_pkey":
            before = await _posted_before(query)
            if before is None:
                raise NotFound(MISSING, field="session") from None
            return before
        return await _post(_placed_anew(query, keeps_handle=keeps_handle), interrupt=interrupt)
    except ForeignKeyViolation:
        raise NotFound("One of the embeds has been removed meanwhile.", field="embeds") from None
    if outcome.seq is None or outcome.session_id is None or outcome.created is None:
        return await _not_accepted(query, outcome, interrupt=interrupt, keeps_handle=keeps_handle)
    hub().publish(outcome.session_id, _query_frame(accepted, outcome.seq, outcome.created, embeds))
    running = outcome.running == query.run
    if running:
        _start(accepted, outcome.session_id, outcome, outcome.seq, outcome.created)
    elif interrupt and outcome.running is not None:
        await stop(outcome.running)
    status = "in_progress" if running else "queued"
    return Posted(outcome.session_id, query.session, query.run, outcome.seq, status, running)


async def _accept(query: Query) -> tuple[Query, Outcome, frames.Frame]:
    """Accepts the query, its own embeds under keys of the session.

    Returns it as it was accepted, what came of it, and its embeds as they are shown.
    """

    async def accept(text: str, embeds: Embeds) -> tuple[Query, Outcome]:
        placed = replace(query, text=text, embeds=embeds)
        return placed, await store.accept(placed, PROCESS)

    (placed, outcome), _, embeds = await attachments.storing(
        query.text, query.own, accept, session__handle=query.session, session__owner=query.user
    )
    if outcome.session_id is None:
        return placed, outcome, {}
    return placed, outcome, await attachments.frame_of(outcome.session_id, embeds.keys)


def _placed_anew(query: Query, *, keeps_handle: bool) -> Query:
    """The same query where the handle of its new session is taken: for another one, or for the session that has it."""
    return replace(query, new=False) if keeps_handle else replace(query, session=new_session_handle())


def _start(query: Query, session_id: int, outcome: Outcome, seq: int, created: datetime) -> None:
    lease = Lease(
        run=query.run,
        epoch=1,
        session_id=session_id,
        session=query.session,
        user=query.user,
        revision=outcome.revision,
        query=query.text,
        query_seq=seq,
        started=created,
        embed_keys=query.embeds.keys,
    )
    execute.start(lease)
    frame = frames.run_frame(run=query.run, status="in_progress", query=seq, agent=None)
    hub().publish(session_id, frame)


def _query_frame(query: Query, seq: int, created: datetime, embeds: frames.Frame) -> frames.Frame:
    return frames.message_frame(
        seq=seq,
        kind="query",
        text=query.text,
        run=query.run,
        agent=None,
        in_reply_to=None,
        created=created,
        embeds=embeds,
    )


async def _not_accepted(query: Query, outcome: Outcome, *, interrupt: bool, keeps_handle: bool) -> Posted:
    """The answer where `accept` wrote nothing. Raises why."""
    # Sent twice, a query must not be refused for the very quota, or the turn, that it took the first time.
    before = await _posted_before(query)
    if before is not None:
        return before
    refusal = await _refusal(query, outcome)
    if refusal is not None:
        raise refusal
    # The day has ended in this moment, or the limit has been raised.
    return await _post(query, interrupt=interrupt, keeps_handle=keeps_handle)


async def _posted_before(query: Query) -> Posted | None:
    place = await transcript.run_of(query.run, user=query.user, jti=query.jti)
    if place is None:
        return None
    await execute.adopt(query.run)
    return Posted(place.session_id, place.session, query.run, place.query_seq, place.status, running=False, again=True)


async def _refusal(query: Query, outcome: Outcome) -> FixieError | None:
    """Why `accept` wrote nothing; None where nothing stands in its way any more."""
    if not outcome.caller_found:
        return Unauthenticated("This key has been revoked, or its user is no longer active.")
    if not outcome.session_found:
        return NotFound(MISSING, field="session")
    if outcome.agent is None:
        return await _nobody(query)
    if query.reject_if_busy and outcome.waiting:
        return SessionBusy("This session is answering another query.", field="if_busy")
    if outcome.waiting >= settings.SESSION_MAX_WAITING:
        return SessionBusy(f"{outcome.waiting} queries wait in this session already.", waiting=outcome.waiting)
    limits = await limits_by_id(outcome.agent)
    return await refusal_of_a_query(user=query.user, agent=limits) if limits else None


async def _nobody(query: Query) -> FixieError:
    """Why there is nobody to ask."""
    if not query.addressed:
        off = await switched_off(user=query.user, session=query.session)
        return off or NotFound("No agent answers in this session. Ask one by name: @owner/handle …", field="agent")
    owner, handle = query.agent
    owners = (owner,) if owner else ("", SITE_OWNER)
    name = "/".join(filter(None, query.agent))
    missing = NotFound(f"There is no agent {name} that you can ask.", field="agent", agent=name)
    return await switched_off(user=query.user, owners=owners, handle=handle) or missing
