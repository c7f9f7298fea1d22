"""Agents' own programs asking other agents: over HTTP, with the token of the call that they answer."""

from collections.abc import Mapping
from uuid import UUID, uuid5

from accounts.auth import NOT_AT_WORK, check_at_work
from accounts.tokens import CallClaims
from common.errors import Canceled, InvalidRequest, NotFound, Unauthenticated
from common.ids import uuid7
from sessions_app.access import MISSING
from sessions_app.children import AgentCall
from sessions_app.posting import Posted
from sessions_app.runner import execute
from sessions_app.runner.children import call_text, open_child, owners_and_handle
from sessions_app.store import LeaseLostError

KEY_MAX = 200


async def check(claims: CallClaims, session: str | None) -> None:
    """Raises Unauthenticated unless the token's query is being answered, NotFound for any `session` but the token's."""
    await check_at_work(claims)
    if session is not None and session != claims.session:
        raise NotFound(MISSING, field="session")


async def ask(
    claims: CallClaims, agent: str, text: str, *, embeds: Mapping[str, UUID], idempotency_key: str | None
) -> Posted:
    """Asks `agent` (`owner/handle`, or `handle` as in few-shots) in a run below the one that the token belongs to.

    `check` has found that one at work. The same `idempotency_key` again within that run is the same question. Raises
    FixieErrors; then nothing is kept.
    """
    parent = UUID(claims.run)
    owners, handle = owners_and_handle(agent, asker=claims.agent_id)
    call = AgentCall(
        run=_run_id(parent, idempotency_key),
        parent=parent,
        epoch=None,
        step=None,
        session=claims.session,
        user=claims.user_id,
        asker=claims.agent_id,
        owners=owners,
        handle=handle,
        chain=(*claims.chain, claims.agent_id),
        text=call_text(agent, text),
    )
    try:
        opened = await open_child(call, execute.adopt, embeds)
    except (LeaseLostError, Canceled):  # it ended meanwhile
        raise Unauthenticated(NOT_AT_WORK) from None
    return Posted(
        opened.session_id, opened.session, opened.run, opened.seq, opened.status, running=False, again=opened.again
    )


def _run_id(parent: UUID, idempotency_key: str | None) -> UUID:
    if idempotency_key is None:
        return uuid7()
    if not 0 < len(idempotency_key) <= KEY_MAX:
        raise InvalidRequest(f"An Idempotency-Key has 1 to {KEY_MAX} characters.", field="Idempotency-Key")
    return uuid5(parent, f"key:{idempotency_key}")
