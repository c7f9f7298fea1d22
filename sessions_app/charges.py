"""What accepting a query and finishing a run charge: parts of the statements in `accepting` and `store`.

Accepting charges the user's day; beyond the daily limit it spends one of the user's credits; and where the agent
has limits of its own, it takes the query from one of the agent's slots, each of which holds a share of the day's
limit, and counts it to the agent's minute. A user's day decides by its newest row. Credits, slots and the minute are
chosen by the statement's snapshot; where one turns out to be used up when its row is locked, a constraint refuses it,
which undoes the statement, and the next try has a newer snapshot.

Where an agent asks another (`children`) nothing is the user's to pay: the asked agent's own limits alone are charged.
"""

from typing import Any

from psycopg.errors import CheckViolation, NotNullViolation

from accounts.quotas import ADD_TO_DAY, ADD_TO_SLOT, ANY_SLOT, MINUTE_LASTS, SLOTS, TODAY
from common.db import Row, fetch_safely
from common.errors import RateLimited

# Each try that loses a race finds a slot empty, or the credits; after so many there is none left to lose.
TRIES = SLOTS + 2
LOST_RACES = (CheckViolation, NotNullViolation)
CHARGED_TABLES = ("accounts_user", "accounts_agentusage", "accounts_agentminute")
REASON = "a query beyond the daily limit"

# Stands on the CTE `agent`; a row of `open_agent` means that it has room for a query. For an agent without limits
# `agent_used`, `agent_minute` and `slot` read nothing.
ROOM = f"""
agent_used AS (
    SELECT COALESCE(sum(u.queries), 0) AS queries, COALESCE(sum(u.tokens), 0) AS tokens
    FROM agent a JOIN accounts_agentusage u ON u.agent = a.id AND u.day = {TODAY}
    WHERE a.daily_query_limit IS NOT NULL OR a.daily_token_limit IS NOT NULL
), agent_minute AS (
    SELECT m.queries FROM agent a JOIN accounts_agentminute m ON m.agent = a.id AND {MINUTE_LASTS}
    WHERE a.minute_query_limit IS NOT NULL
), slot AS (
    SELECT n AS number, share.queries AS share
    FROM agent a CROSS JOIN LATERAL generate_series(0, {SLOTS - 1}) AS n
        CROSS JOIN LATERAL (
            SELECT a.daily_query_limit / {SLOTS} + (n < a.daily_query_limit %% {SLOTS})::int) AS share(queries)
        LEFT JOIN accounts_agentusage u ON u.agent = a.id AND u.day = {TODAY} AND u.slot = n
    WHERE a.daily_query_limit IS NOT NULL AND COALESCE(u.queries, 0) < share.queries
    ORDER BY random() LIMIT 1
), open_agent AS (
    SELECT a.id FROM agent a CROSS JOIN agent_used u LEFT JOIN agent_minute m ON true
    WHERE (a.daily_query_limit IS NULL OR u.queries < a.daily_query_limit)
        AND (a.daily_token_limit IS NULL OR u.tokens < a.daily_token_limit)
        AND (a.minute_query_limit IS NULL OR COALESCE(m.queries, 0) < a.minute_query_limit)
)"""

# Stands on `ROOM` and a CTE `paid`, whose row means that the rest is charged. The minute comes after the slot, so that
# nobody who waits for a slot holds it.
TAKEN = f"""
slot_taken AS (
    INSERT INTO accounts_agentusage AS u (agent, day, slot, queries, tokens)
    SELECT a.id, {TODAY}, slot.number, 1, 0 FROM agent a, slot, paid
    ON CONFLICT (agent, day, slot) DO UPDATE
        SET queries = CASE WHEN u.queries < (SELECT share FROM slot) THEN u.queries + 1 END
    RETURNING 1
), minute_taken AS (
    INSERT INTO accounts_agentminute AS m (agent, began, queries)
    SELECT a.id, now(), 1 FROM agent a, paid, (SELECT count(*) FROM slot_taken) AS first
    WHERE a.minute_query_limit IS NOT NULL
    ON CONFLICT (agent) DO UPDATE SET
        began = CASE WHEN {MINUTE_LASTS} THEN m.began ELSE now() END,
        queries = CASE WHEN NOT {MINUTE_LASTS} THEN 1
            WHEN m.queries < (SELECT minute_query_limit FROM agent) THEN m.queries + 1 END
)"""

# Stands on the CTEs `caller` and `agent`; one row of `paid` means that all is charged.
CHARGED = f"""{ROOM}, charged AS (
    INSERT INTO accounts_usageday AS u (user_id, agent, day, queries, prompt_tokens, completion_tokens)
    SELECT c.id, NULL, {TODAY}, 1, 0, 0 FROM caller c, open_agent {{source}}
    WHERE (c.daily_query_limit > 0 OR c.credits > 0) AND c.daily_token_limit IS DISTINCT FROM 0 {{condition}}
    ON CONFLICT (user_id, day, agent) DO UPDATE SET queries = u.queries + 1
        WHERE (SELECT (u.queries < c.daily_query_limit OR c.credits > 0)
                AND (c.daily_token_limit IS NULL OR u.prompt_tokens + u.completion_tokens < c.daily_token_limit)
            FROM caller c)
    RETURNING u.queries
), spent AS (
    UPDATE accounts_user u SET credits = u.credits - 1 FROM charged, caller c
    WHERE u.id = c.id AND charged.queries > c.daily_query_limit
    RETURNING u.id
), ledger AS (
    INSERT INTO accounts_creditentry (user_id, amount, reason, run)
    SELECT id, -1, '{REASON}', %(run)s FROM spent
), paid AS (
    SELECT FROM charged, caller c WHERE charged.queries <= c.daily_query_limit UNION ALL SELECT FROM spent
),{TAKEN}"""

# Stands on the CTEs `run` and `session`; the slot comes after the user's rows, as in accepting.
COUNTED = f"""
usage AS (
    INSERT INTO accounts_usageday AS u (user_id, agent, day, queries, prompt_tokens, completion_tokens)
    SELECT session.owner_id, used.agent, {TODAY}, used.queries, %(prompt_tokens)s, %(completion_tokens)s
    FROM run, session, LATERAL (
        SELECT run.agent_id, 1 WHERE run.agent_id IS NOT NULL
        UNION ALL SELECT NULL, 0 WHERE %(own_tokens)s AND %(prompt_tokens)s::int + %(completion_tokens)s::int > 0
    ) AS used(agent, queries)
    {ADD_TO_DAY}
    RETURNING 1
), slot AS (
    INSERT INTO accounts_agentusage AS u (agent, day, slot, queries, tokens)
    SELECT a.id, {TODAY}, {ANY_SLOT}, 0, %(prompt_tokens)s::bigint + %(completion_tokens)s::bigint
    FROM run JOIN registry_agent a ON a.id = run.agent_id
    WHERE a.daily_token_limit IS NOT NULL AND %(prompt_tokens)s::int + %(completion_tokens)s::int > 0
        AND (SELECT count(*) FROM usage) > 0
    {ADD_TO_SLOT}
)"""


async def fetch_charged(statement: str, params: dict[str, Any]) -> list[Row]:
    """`fetch_safely` for a statement with `CHARGED`, which is tried again where it lost a race."""
    for _ in range(TRIES):
        try:
            return await fetch_safely(statement, params)
        except LOST_RACES as error:
            if error.diag.table_name not in CHARGED_TABLES:
                raise
    raise RateLimited("Too many ask this agent in this very moment. Please try again.", retry_after=1)
