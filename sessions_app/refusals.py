"""Why a query was not accepted: `accepting.accept` wrote nothing, and somebody has to be told the reason."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.quotas import refusal_of_a_query
from common.errors import FixieError, NotFound, SessionBusy, Unauthenticated
from common.handles import SITE_OWNER
from registry.limits import limits_by_id
from sessions_app.accepting import Outcome, Query
from sessions_app.access import MISSING
from sessions_app.asked import switched_off


async def refusal_of(query: Query, outcome: Outcome) -> FixieError | None:
    """Why `accept` wrote nothing; None where nothing stands in its way any more."""
    if not outcome.caller_found:
        return Unauthenticated("This key has been revoked, or its user is no longer active.")
    if not outcome.session_found:
        return NotFound(MISSING, field="session")
    if outcome.agent is None:
        return await _nobody(query)
    if query.reject_if_busy and outcome.waiting:
        return SessionBusy(_("This session is answering another query."), field="if_busy")
    if outcome.waiting >= settings.SESSION_MAX_WAITING:
        return SessionBusy(_("%(waiting)s queries wait in this session already."), waiting=outcome.waiting)
    limits = await limits_by_id(outcome.agent)
    return await refusal_of_a_query(user=query.user, agent=limits) if limits else None


async def _nobody(query: Query) -> FixieError:
    """Why there is nobody to ask."""
    if not query.addressed and not query.new:
        off = await switched_off(user=query.user, session=query.session)
        return off or NotFound(_("No agent answers in this session. Ask one by name: @owner/handle …"), field="agent")
    owner, handle = query.agent
    owners = (owner,) if owner else ("", SITE_OWNER)
    name = "/".join(filter(None, query.agent))
    missing = NotFound(_("There is no agent %(agent)s that you can ask."), field="agent", agent=name)
    return await switched_off(user=query.user, owners=owners, handle=handle) or missing
