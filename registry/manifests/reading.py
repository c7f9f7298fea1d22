"""Reading manifests from the network, and letting an agent serve again once its manifest is mended."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from django.db import transaction

from accounts.tokens import CallClaims, asign_call_token
from common.db import run_db, run_db_safely
from common.errors import AgentUnreachable, FixieError, InvalidRequest
from common.http import Answer, check_address
from registry.actions import Reading, record_manifest
from registry.fields import AgentFields
from registry.liveness import checks
from registry.manifests.manifest import read_manifest
from registry.models import Agent, Revision
from registry.specs import AgentSpec, RevisionBroken, load_spec, spec_of

# A broken agent that many people ask is read once a second by each process, not once a query.
ATTEMPT_SECONDS = 1.0
TOKEN_SECONDS = 60.0

Attempt = asyncio.Task[AgentSpec | FixieError]
Key = tuple[asyncio.AbstractEventLoop, int]
_attempts: dict[Key, Attempt] = {}


def address_to_read(agent: Agent, fields: AgentFields, url: str | None) -> str | None:
    """Where changes of an agent call for a reading: at its new address, or where it runs if it is to speak another
    protocol there. The agent comes with its current revision."""
    revision = agent.current_revision
    if url or fields.get("protocol", agent.protocol) == agent.protocol:
        return url
    return revision.target if revision and revision.deployment == Revision.Deployment.EXTERNAL else None


async def read_address(
    user_id: int,
    agent_id: str,
    url: str,
    *,
    protocol: str = "",
    field: str = "deployment_url",
    seen: Callable[[Answer], None] | None = None,
) -> Reading:
    """`read_for` at an address that somebody registers. Raises InvalidRequest naming `field` for a forbidden one."""
    try:
        await check_address(url)
    except InvalidRequest as error:
        raise InvalidRequest(error.message, **{**error.details, "field": field}) from None
    except AgentUnreachable:
        pass  # The name does not resolve now: the reading will say so.
    return await read_for(user_id, agent_id, url, protocol, seen)


async def read_for(
    user_id: int, agent_id: str, url: str, protocol: str = "", seen: Callable[[Answer], None] | None = None
) -> Reading:
    """Reads the manifest at `url` in the name of a user, with a token for the agent `agent_id`.

    `protocol` is what its owner says that it speaks; `seen` is given the manifest as it came.

    Never raises FixieError: what went wrong is the reading's result.
    """
    claims = CallClaims(user_id=user_id, agent_id=agent_id, session="", run="", chain=())
    try:
        token = await asign_call_token(claims, lifetime=TOKEN_SECONDS)
        return Reading(url, await read_manifest(url, token=token, protocol=protocol, seen=seen))
    except FixieError as error:
        return Reading(url, error)


async def refresh(revision: Revision, *, user_id: int) -> Revision:
    """Reads an external revision's manifest again; returns the revision that now serves.

    `revision` comes with its agent and the agent's owner. Raises the FixieError of a reading that failed,
    after recording it, and NotFound where the agent has been deleted meanwhile.
    """
    agent = revision.agent
    reading = await read_for(user_id, agent.agent_id, revision.target, agent.protocol)
    current = await run_db(record, revision, reading)
    if isinstance(reading.result, FixieError):
        raise reading.result
    return current


def record(revision: Revision, reading: Reading, *, again_after: timedelta | None = None) -> Revision:
    """`record_manifest`; a reading that went well is also a proof of life, after which the agent is checked in
    the usual interval, or `again_after`."""
    with transaction.atomic():
        current = record_manifest(revision=revision, reading=reading)
        # Meanwhile it may have been deployed elsewhere, which says nothing of there.
        if current.target == revision.target and not isinstance(reading.result, FixieError):
            checks.note_alive(current.pk, again_after=again_after)
        return current


async def mended_spec(revision_id: int, *, user_id: int) -> AgentSpec:
    """The spec of a revision, reading its manifest again if it was broken.

    Callers at the same time share one attempt, and a failure answers for `ATTEMPT_SECONDS` more. Raises
    NotFound, or the FixieError that says why the manifest still cannot be used.
    """
    key = (asyncio.get_running_loop(), revision_id)
    attempt = _attempts.get(key)
    if attempt is None:
        attempt = _attempts[key] = asyncio.create_task(_attempt(revision_id, user_id))
        attempt.add_done_callback(partial(_keep_failure, key))
    # Shielded: one caller who is cancelled does not take the answer from the others.
    result = await asyncio.shield(attempt)
    if isinstance(result, FixieError):
        raise result
    return result


async def _attempt(revision_id: int, user_id: int) -> AgentSpec | FixieError:
    try:
        return await run_db_safely(load_spec, revision_id)
    except RevisionBroken as broken:
        revision = broken.revision
    except FixieError as error:
        return error
    try:
        return spec_of(await refresh(revision, user_id=user_id), revision.agent.agent_id)
    except FixieError as error:
        return error


def _keep_failure(key: Key, attempt: Attempt) -> None:
    failed = attempt.cancelled() or attempt.exception() or isinstance(attempt.result(), FixieError)
    key[0].call_later(ATTEMPT_SECONDS if failed else 0, _attempts.pop, key, None)
