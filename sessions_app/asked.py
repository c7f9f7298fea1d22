"""Who asks, and which agent is asked: parts of the statements that accept questions, in `accepting` and `children`."""

from collections.abc import Sequence

from django.utils.translation import gettext_lazy as _

from accounts.auth import IS_CALLER
from common.db import fetch_safely
from common.errors import AgentSwitchedOff
from common.handles import SITE_OWNER
from registry.visibility import IS_OWN, may_ask, may_see

CALLER = f"""
caller AS (
    SELECT u.id, u.owner_id, u.daily_query_limit, u.daily_token_limit, u.credits
    FROM accounts_user u WHERE {IS_CALLER}
)"""

NAMED_AGENT = """
    SELECT a.id FROM registry_agent a JOIN accounts_owner o ON o.id = a.owner_id
    WHERE o.handle = %(owner)s AND a.handle = %(handle)s"""

# Named by the handle alone: the caller's own, else the site's.
OWN_AGENT = """
    SELECT a.id FROM caller c, registry_agent a JOIN accounts_owner o ON o.id = a.owner_id
    WHERE a.handle = %(handle)s AND (o.id = c.owner_id OR o.handle = %(owner)s)
    ORDER BY o.id = c.owner_id DESC LIMIT 1"""

# The agent `a` is for `caller c` to ask.
IS_VISIBLE = may_ask(IS_OWN.format(owner="a.owner_id"))

# The owner `w` is no stranger to the user `c`: themselves, an organization of theirs, or the site.
IS_TRUSTED = f"(w.handle = '{SITE_OWNER}' OR {IS_OWN.format(owner='w.id')})"

# Among the agents of the `chain` is a stranger's: below it nothing of the user `c` may be reached that is not public.
IS_BELOW_STRANGER = f"""EXISTS (
        SELECT FROM unnest(%(chain)s::text[]) AS above WHERE NOT EXISTS (
            SELECT FROM accounts_owner w WHERE w.handle = split_part(above, '/', 1) AND {IS_TRUSTED}))"""

AGENT = f"""
agent AS (
    SELECT a.id, a.current_revision_id, a.daily_query_limit, a.daily_token_limit, a.minute_query_limit
    FROM registry_agent a, caller c {{source}}
    WHERE a.id = {{which}} AND {IS_VISIBLE}
)"""

# The front agent of a session is named by it alone. An owner '' is the user.
_SWITCHED_OFF = f"""
SELECT o.handle || '/' || a.handle
FROM registry_agent a JOIN accounts_owner o ON o.id = a.owner_id, accounts_user c
WHERE c.id = %(user)s AND NOT a.enabled AND {may_see(IS_OWN.format(owner="a.owner_id"))}
    AND (a.published OR NOT {IS_BELOW_STRANGER})
    AND CASE WHEN %(handle)s = '' THEN a.id = (
            SELECT s.agent_id FROM sessions_app_session s WHERE s.handle = %(session)s AND s.owner_id = c.id)
        ELSE a.handle = %(handle)s
            AND o.handle = ANY(array_replace(%(owners)s::text[], '', c.username::text)) END
ORDER BY array_position(array_replace(%(owners)s::text[], '', c.username::text), o.handle::text) LIMIT 1"""


async def switched_off(
    *, user: int, owners: Sequence[str] = (), handle: str = "", session: str = "", chain: Sequence[str] = ()
) -> AgentSwitchedOff | None:
    """Why the agent `handle` of the first of `owners` could not be asked, where that is only switched off.

    An owner '' is the user; without a handle it is about the front agent of the user's `session`. Of agents that the
    user, or whoever asks for them below the agents of the `chain`, does not see nothing is told.
    """
    params = {"user": user, "owners": list(owners), "handle": handle, "session": session, "chain": list(chain)}
    rows = await fetch_safely(_SWITCHED_OFF, params)
    if not rows:
        return None
    return AgentSwitchedOff(_("%(agent)s is switched off."), field="agent", agent=rows[0][0])
