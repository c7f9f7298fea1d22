"""Posting queries: the async actions behind every edge."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from coolname import generate_slug
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from psycopg.errors import ForeignKeyViolation, UniqueViolation

from accounts.auth import Caller
from common.errors import InvalidRequest, NotFound
from common.handles import split_address, split_agent_id, split_agent_name
from common.ids import uuid7
from common.texts import clean_text
from registry.models import Agent
from sessions_app import attachments, frames, transcript
from sessions_app.accepting import Outcome, Query, accept
from sessions_app.access import MISSING
from sessions_app.leases import Lease
from sessions_app.references import Embeds
from sessions_app.refusals import refusal_of
from sessions_app.runner import execute
from sessions_app.runner.identity import PROCESS
from sessions_app.runner.live import hub
from sessions_app.stopping import stop

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


async def begin(
    caller: Caller,
    text: str,
    *,
    front: Agent | None,
    embeds: Mapping[str, UUID] | None = None,
    client_id: str | None = None,
) -> Posted:
    """Posts the first query of a new session with this front agent; None lets the site's agent choose.

    It goes to the agent that the text starts with, else to the front agent. The same `client_id` again returns the
    query posted before. Raises FixieErrors; then there is no session.
    """
    agent = _named_in(text) or (front and (front.owner.handle, front.handle)) or split_agent_id(settings.DEFAULT_AGENT)
    run = run_id(caller, "", client_id)
    query = _query(caller, new_session_handle(), agent, text, run, new=True, addressed=False)
    return await _post(replace(query, front=front.pk if front else None, own=embeds or {}))


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
    reveals: bool = False,
) -> Posted:
    """Posts a query to a session of the caller's, with `embeds` of theirs by the keys that the text uses.

    It goes to `agent`, else to the one that the text starts with (`@owner/handle`, or `@handle`: their own, else the
    site's), else to the session's front agent. While another run is at work it waits (`enqueue`), is refused
    (`reject`), or stops that run first (`interrupt`). The same `client_id`, or the id of a `run`, again returns the
    query posted before. With `reveals` the session may count as deleted, and no longer does once the query is in it.
    Raises FixieErrors; then nothing is kept.
    """
    if "\0" in session:  # on which PostgreSQL fails
        raise NotFound(MISSING, field="session")
    if if_busy not in IF_BUSY:
        raise InvalidRequest(f"if_busy must be one of {', '.join(IF_BUSY)}.", field="if_busy")
    agent = agent or _named_in(text)
    addressed = agent is not None
    agent = agent or split_agent_id(settings.DEFAULT_AGENT)
    reject = if_busy == "reject"
    run = run or run_id(caller, session, client_id)
    query = _query(caller, session, agent, text, run, new=False, addressed=addressed, reject=reject)
    return await _post(replace(query, reveals=reveals, own=embeds or {}), interrupt=if_busy == "interrupt")


def _named_in(text: str) -> tuple[str, str] | None:
    """The agent that a text starts with. Raises InvalidRequest where nothing follows."""
    named, rest = split_address(text)
    if named is None:
        return None
    if not rest.strip():
        raise InvalidRequest(_("There is no question after @%(agent)s."), field="text", agent=named)
    return split_agent_name(named)


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
            before = await posted_before(query.run, user=query.user, jti=query.jti)
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

    async def store(text: str, embeds: Embeds) -> tuple[Query, Outcome]:
        placed = replace(query, text=text, embeds=embeds)
        return placed, await accept(placed, PROCESS)

    (placed, outcome), __, embeds = await attachments.storing(
        query.text, query.own, store, session__handle=query.session, session__owner=query.user
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
    times = frames.Times(created, created)
    frame = frames.run_frame(run=query.run, status="in_progress", query=seq, agent=None, times=times)
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
    before = await posted_before(query.run, user=query.user, jti=query.jti)
    if before is not None:
        return before
    refusal = await refusal_of(query, outcome)
    if refusal is not None:
        raise refusal
    # The day has ended in this moment, or the limit has been raised.
    return await _post(query, interrupt=interrupt, keeps_handle=keeps_handle)


async def posted_before(run: UUID, *, user: int, jti: UUID | None) -> Posted | None:
    """The caller's query with this run, where it is there already; it is answered."""
    place = await transcript.run_of(run, user=user, jti=jti)
    if place is None:
        return None
    await execute.adopt(run)
    return Posted(place.session_id, place.session, run, place.query_seq, place.status, running=False, again=True)
