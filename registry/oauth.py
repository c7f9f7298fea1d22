"""Agents that sign in to other services for their users: what the service answers goes to the agent's Func `_oauth`.

An agent of the published SDK (fixieai.agents.oauth) sends its user to the service with `state` set to
`owner/handle:random`, which it also stores in that user's User Storage, and `SITE/oauth` as the way back. It is the
agent that compares the two: a `state` that was made for somebody else is refused there. No model can call `_oauth`,
as it begins with `_` (`sessions_app.runner.code_shot`).
"""

import hashlib

import orjson
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.tokens import CallClaims, asign_call_token
from common.errors import AgentFailed, AgentSwitchedOff, InvalidRequest, NotFound
from common.handles import split_agent_id
from registry.access import agent_for
from registry.specs import AgentSpec, load_spec
from registry.transports.base import AgentMessage, Call, reply_of
from registry.transports.catalog import transport

FUNC = "_oauth"
# The agent stores what it got in User Storage with this token, after the service has answered it.
TOKEN_SLACK = 60.0


def agent_named(state: str) -> str:
    """The agent's id in a `state`, `owner/handle:random`. Raises InvalidRequest."""
    agent_id, colon, rest = state.partition(":")
    if not colon or not rest:
        raise InvalidRequest(_("The address does not say which agent it is for."), field="state")
    split_agent_id(agent_id)
    return agent_id


def spec_for(user: User, state: str) -> AgentSpec:
    """The agent that a `state` names, ready to be called.

    Raises InvalidRequest, NotFound, AgentSwitchedOff or RevisionBroken.
    """
    agent = agent_for(user, *split_agent_id(agent_named(state)))
    if not agent.enabled:
        raise AgentSwitchedOff(_("%(agent)s is switched off."), field="agent", agent=agent.agent_id)
    if agent.current_revision_id is None:
        raise NotFound(_("This agent runs nowhere at the moment."), field="agent")
    return load_spec(agent.current_revision_id)


async def hand_over(spec: AgentSpec, *, user_id: int, state: str, code: str) -> str:
    """Gives `code` to the agent in the name of a user; returns what the agent says.

    Raises AgentFailed (with `details["reason"] == "unknown_func"` where it signs in nowhere), AgentUnreachable,
    AgentTimeout or AgentInvalidResponse. Charges no quota.
    """
    if spec.transport in ("internal", "front"):
        raise AgentFailed(_("This agent does not sign in anywhere."), reason="unknown_func")
    claims = CallClaims(user_id=user_id, agent_id=spec.agent_id, session="", run="", chain=())
    timeout = settings.AGENT_CALL_TIMEOUT
    call = Call(
        message=AgentMessage(orjson.dumps({"state": state, "code": code}).decode()),
        token=await asign_call_token(claims, lifetime=timeout + TOKEN_SLACK),
        # A reload of the page is the same call again.
        idempotency_key=f"oauth/{hashlib.sha256(f'{state} {code}'.encode()).hexdigest()[:32]}",
        func=FUNC,
        timeout=timeout,
    )
    return (await reply_of(transport(spec.transport), spec.deployment, call)).text
