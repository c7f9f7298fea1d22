"""Who calls, and at whose expense."""

from dataclasses import dataclass

from django.http import HttpRequest

from accounts.auth import Caller, Principal, bearer_of, check_at_work, principal_of
from accounts.quotas import AgentLimits, check_tokens
from common.errors import QuotaExceeded, Unauthenticated
from registry.limits import limits_of


@dataclass(frozen=True, slots=True)
class Payer:
    """Whose tokens a call uses: a user's, and an agent's where it acts for the user."""

    user: int
    agent: AgentLimits | None


async def payer_of(request: HttpRequest, *, spends: bool) -> Payer:
    """Who pays for a call; one that `spends` needs tokens that are left of today.

    Raises Unauthenticated without an API key or the token of a call, and where the key is revoked, the user
    inactive, the agent gone, or the call's query no longer being answered; QuotaExceeded.
    """
    principal = await _principal(request)
    agent = None if isinstance(principal, Caller) else await limits_of(principal.agent_id)
    if agent is None and not isinstance(principal, Caller):
        raise Unauthenticated("The agent of this token is gone.")
    try:
        await check_tokens(principal, agent)
    except QuotaExceeded:
        if spends:
            raise
    return Payer(principal.user_id, agent)


async def _principal(request: HttpRequest) -> Principal:
    """A browser's cookie is neither a key nor a token."""
    if bearer_of(request) is None:
        raise Unauthenticated("Send an API key, or the token of an agent's call, as `Authorization: Bearer TOKEN`.")
    principal = await principal_of(request)
    await check_at_work(principal)
    return principal
