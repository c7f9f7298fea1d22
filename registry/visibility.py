"""Who sees an agent and may ask it, as parts of SQL statements: the same rule as `AgentQuerySet.visible_to`."""

# The ids of the owners that the user `%(user)s` may act for: a CTE, for statements that look at many agents.
OWNERS = """mine AS MATERIALIZED (
    SELECT owner_id FROM accounts_user WHERE id = %(user)s
    UNION ALL
    SELECT g.owner_id FROM accounts_membership m JOIN accounts_organization g ON g.id = m.organization_id
    WHERE m.user_id = %(user)s
)"""
_IS_MINE = "a.owner_id = ANY(ARRAY(SELECT owner_id FROM mine))"

# The owner is the user `c`, or an organization of theirs: for statements that look at one agent.
IS_OWN = """({owner} = c.owner_id OR EXISTS (
            SELECT FROM accounts_membership m JOIN accounts_organization g ON g.id = m.organization_id
            WHERE g.owner_id = {owner} AND m.user_id = c.id))"""


def may_see(is_own: str = _IS_MINE) -> str:
    """The agent `a` is one that the user sees: it is published or theirs.

    `is_own` says when it is theirs; without one, by the CTE `mine`.
    """
    return f"(a.published OR {is_own})"


def may_ask(is_own: str = _IS_MINE) -> str:
    """The agent `a` is one that the user may ask: they see it, and it is switched on."""
    return f"(a.enabled AND {may_see(is_own)})"
