"""Who asks, and which agent is asked: parts of the statements that accept questions, in `store` and `children`."""

from accounts.auth import IS_CALLER
from common.handles import SITE_OWNER

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

# The owner is the user `c`, or an organization of theirs.
_IS_OWN = """({owner} = c.owner_id OR EXISTS (
            SELECT FROM accounts_membership m JOIN accounts_organization g ON g.id = m.organization_id
            WHERE g.owner_id = {owner} AND m.user_id = c.id))"""

# The agent `a` is for `caller c` to ask: the same rule as `AgentQuerySet.visible_to`.
IS_VISIBLE = f"(a.published OR {_IS_OWN.format(owner='a.owner_id')})"

# The owner `w` is no stranger to the user `c`: themselves, an organization of theirs, or the site.
IS_TRUSTED = f"(w.handle = '{SITE_OWNER}' OR {_IS_OWN.format(owner='w.id')})"

# Among the agents of the `chain` is a stranger's: below it nothing of the user `c` may be reached that is not public.
IS_BELOW_STRANGER = f"""EXISTS (
        SELECT FROM unnest(%(chain)s::text[]) AS above WHERE NOT EXISTS (
            SELECT FROM accounts_owner w WHERE w.handle = split_part(above, '/', 1) AND {IS_TRUSTED}))"""

AGENT = f"""
agent AS (
    SELECT a.id, a.current_revision_id, a.daily_query_limit, a.daily_token_limit
    FROM registry_agent a, caller c {{source}}
    WHERE a.id = {{which}} AND {IS_VISIBLE}
)"""
