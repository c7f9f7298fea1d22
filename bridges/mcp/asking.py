"""Posting a prompt, with what else the agent is to know."""

from collections.abc import Mapping
from typing import Any

import orjson

from accounts.models import User
from bridges.mcp.exchange import Exchange
from common.db import RETRYABLE, run_db
from common.errors import FixieError, InvalidRequest
from common.handles import split_agent_id
from common.texts import clean_text
from registry.access import agent_for
from registry.models import Agent
from registry.transports.catalog import TRANSPORTS
from sessions_app import actions, posting
from sessions_app.access import session_for
from sessions_app.contexts import CONTEXT_MAX, context_of, keep_context
from sessions_app.models import Session
from sessions_app.posting import Posted

Context = Mapping[str, Any]


async def ask(exchange: Exchange, agent_id: str, prompt: str, *, session: str | None, context: Context) -> Posted:
    """Posts to a session of the caller's, or to a new one. Raises FixieErrors; then nothing is kept.

    Where the agent's transport hands on a context, `context` is laid over the one that stands in the session; other
    agents find it below the prompt, as JSON.
    """
    agent = split_agent_id(agent_id)
    if context:
        found = await run_db(agent_for, exchange.user, *agent)
        if _takes_context(found):
            return await _ask_with_context(exchange, found, prompt, session, context)
        told = orjson.dumps(context, option=orjson.OPT_INDENT_2).decode()
        prompt = clean_text(f"{prompt}\n\nContext:\n```json\n{told}\n```", field="context")
    if session is None:
        return await posting.ask(exchange.caller, agent, prompt)
    return await posting.post(exchange.caller, session, prompt, agent=agent)


def _takes_context(agent: Agent) -> bool:
    transport = TRANSPORTS.get(agent.current_revision.transport) if agent.current_revision else None
    return transport is not None and transport.keeps_context


async def _ask_with_context(
    exchange: Exchange, agent: Agent, prompt: str, handle: str | None, context: Context
) -> Posted:
    session = await run_db(_session, exchange.user, agent, handle)
    before = await context_of(session=session.pk, agent=agent.pk)
    await _keep({**before, **context}, session, agent)
    try:
        return await posting.post(exchange.caller, session.handle, prompt, agent=split_agent_id(agent.agent_id))
    except (FixieError, *RETRYABLE):
        if handle is None:
            await run_db(actions.delete_session, session=session)
        else:
            await _keep(before, session, agent)
        raise


async def _keep(context: Context, session: Session, agent: Agent) -> None:
    if len(orjson.dumps(context)) > CONTEXT_MAX:
        raise InvalidRequest(f"The context may have {CONTEXT_MAX} bytes.", field="context", limit=CONTEXT_MAX)
    await keep_context(context, session=session.pk, agent=agent.pk)


def _session(user: User, agent: Agent, handle: str | None) -> Session:
    return actions.create_session(user=user, agent=agent) if handle is None else session_for(user, handle)
