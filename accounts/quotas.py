"""What users and agents may use in a day (UTC), and agents in a minute: whether it is used up, and counting tokens.

Queries are charged where they are accepted, in `sessions_app.accepting`, in the same statement. What is counted:
- `UsageDay`: a user's total of the day, and the user's use of each agent.
- `AgentUsage`: what all users together use of an agent that has a limit, in slots.
- `AgentMinute`: what all users together ask of an agent that has a limit a minute.
Locks are taken in this order: the user's rows of the day, the user (whose credits are spent), a slot of the agent, its
minute.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import connection
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from accounts.actions import day_ends
from accounts.auth import IS_CALLER, Caller, Principal
from accounts.models import AgentMinute, AgentUsage
from common.db import fetch_safely
from common.errors import QuotaExceeded, RateLimited, Unauthenticated

SLOTS = AgentUsage.SLOTS
TODAY = "(now() AT TIME ZONE 'UTC')::date"
MINUTE = timedelta(minutes=1)
# The row `m` of an agent's minute is of one that is not over.
MINUTE_LASTS = "m.began > now() - interval '1 minute'"

# How a row that is there already is added to; `u` is the row.
ADD_TO_DAY = """
    ON CONFLICT (user_id, day, agent) DO UPDATE SET
        queries = u.queries + EXCLUDED.queries,
        prompt_tokens = u.prompt_tokens + EXCLUDED.prompt_tokens,
        completion_tokens = u.completion_tokens + EXCLUDED.completion_tokens"""
ADD_TO_SLOT = "ON CONFLICT (agent, day, slot) DO UPDATE SET tokens = u.tokens + EXCLUDED.tokens"
ANY_SLOT = f"floor(random() * {SLOTS})::int"


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """What all users together may use of an agent in a day, or a minute; None: no limit. `name` is `owner/handle`."""

    agent: int
    name: str
    daily_query_limit: int | None
    daily_token_limit: int | None
    minute_query_limit: int | None = None


@dataclass(frozen=True, slots=True)
class _Today:
    """What a user and an agent have used, and what the user may."""

    query_limit: int
    token_limit: int | None
    credits: int
    queries: int
    tokens: int
    agent_queries: int
    agent_tokens: int
    minute_queries: int
    minute_ends: datetime | None


async def check_tokens(principal: Principal, agent: AgentLimits | None = None) -> None:
    """Whether a language model may be used now by the caller, or for the caller by an agent.

    Raises QuotaExceeded where the user's or the agent's tokens of the day are used up, Unauthenticated where the
    user is inactive or the key revoked. What one call uses is known only afterwards: the last call that is let
    in may go beyond the limit.
    """
    today = await _today(principal.user_id, principal.jti if isinstance(principal, Caller) else None, agent)
    if today is None:
        raise Unauthenticated("This key has been revoked, or its user is no longer active.")
    for refusal in _refusals(today, agent):
        if refusal.details["which"] in ("tokens", "agent_tokens"):
            raise refusal


async def refusal_of_a_query(*, user: int, agent: AgentLimits) -> RateLimited | None:
    """What is used up, so that `user` cannot ask `agent`; None where nothing is (any more)."""
    today = await _today(user, None, agent)
    return None if today is None else next(_refusals(today, agent), None)


async def refusal_of_an_agent(*, user: int, agent: AgentLimits) -> RateLimited | None:
    """The same where another agent asks for `user`, who has paid for it already: only what is used up of the agent."""
    today = await _today(user, None, agent)
    return None if today is None else next(_refusals_of_an_agent(today, agent), None)


_COUNT_TOKENS = f"""
WITH used AS (
    INSERT INTO accounts_usageday AS u (user_id, agent, day, queries, prompt_tokens, completion_tokens)
    SELECT %(user)s, used.agent, {TODAY}, 0, %(prompt)s, %(completion)s
    FROM (SELECT %(agent)s::bigint WHERE %(agent)s::bigint IS NOT NULL UNION ALL SELECT NULL) AS used(agent)
    -- No constraint says so: somebody whose account is gone.
    WHERE EXISTS (SELECT FROM accounts_user WHERE id = %(user)s)
    {ADD_TO_DAY}
    RETURNING 1
), slot AS (
    INSERT INTO accounts_agentusage AS u (agent, day, slot, queries, tokens)
    SELECT %(agent)s, {TODAY}, {ANY_SLOT}, 0, %(prompt)s::bigint + %(completion)s::bigint
    WHERE %(limited)s AND (SELECT count(*) FROM used) > 0
    {ADD_TO_SLOT}
)
SELECT count(*) FROM used"""


async def count_tokens(*, user: int, agent: AgentLimits | None, prompt: int, completion: int) -> None:
    """Counts tokens that a language model read and wrote for a user, and for the agent that asked for it."""
    if prompt + completion == 0:
        return
    params = {
        "user": user,
        "agent": agent.agent if agent else None,
        "limited": agent is not None and agent.daily_token_limit is not None,
        "prompt": prompt,
        "completion": completion,
    }
    await fetch_safely(_COUNT_TOKENS, params)


_TODAY = f"""
SELECT u.daily_query_limit, u.daily_token_limit, u.credits,
    COALESCE(d.queries, 0), COALESCE(d.prompt_tokens + d.completion_tokens, 0), a.queries, a.tokens,
    COALESCE(m.queries, 0), m.began + interval '1 minute'
FROM accounts_user u
    LEFT JOIN accounts_usageday d ON d.user_id = u.id AND d.agent IS NULL AND d.day = {TODAY}
    CROSS JOIN LATERAL (
        SELECT COALESCE(sum(queries), 0)::bigint, COALESCE(sum(tokens), 0)::bigint
        FROM accounts_agentusage WHERE agent = %(agent)s AND day = {TODAY}
    ) AS a(queries, tokens)
    LEFT JOIN accounts_agentminute m ON m.agent = %(agent)s AND {MINUTE_LASTS}
WHERE {IS_CALLER}"""


async def _today(user: int, jti: UUID | None, agent: AgentLimits | None) -> _Today | None:
    """None where the user is inactive or the key revoked."""
    params = {"user": user, "jti": jti, "agent": agent.agent if agent else None}
    rows = await fetch_safely(_TODAY, params)
    return _Today(*rows[0]) if rows else None


def _refusals(today: _Today, agent: AgentLimits | None) -> Iterator[RateLimited]:
    if today.credits == 0:
        words = _("Your queries are used up for today (%(used)s of %(limit)s). The next day begins at midnight UTC.")
        yield from _refusal("queries", today.queries, today.query_limit, words)
    words = _(
        "Your tokens of language models are used up for today (%(used)s of %(limit)s). "
        "The next day begins at midnight UTC."
    )
    yield from _refusal("tokens", today.tokens, today.token_limit, words)
    if agent is not None:
        yield from _refusals_of_an_agent(today, agent)


def _refusals_of_an_agent(today: _Today, agent: AgentLimits) -> Iterator[RateLimited]:
    words = _(
        "The queries of a day that %(agent)s answers, all users together, are used up (%(used)s of %(limit)s). "
        "The next day begins at midnight UTC."
    )
    yield from _refusal("agent_queries", today.agent_queries, agent.daily_query_limit, words, agent=agent.name)
    words = _(
        "The tokens of language models that %(agent)s may use in a day, all users together, are used up "
        "(%(used)s of %(limit)s). The next day begins at midnight UTC."
    )
    yield from _refusal("agent_tokens", today.agent_tokens, agent.daily_token_limit, words, agent=agent.name)
    limit = agent.minute_query_limit
    if limit is not None and today.minute_queries >= limit:
        yield _too_often(agent.name, limit, today)


def _too_often(name: str, limit: int, today: _Today) -> RateLimited:
    now = datetime.now(UTC)
    ends = today.minute_ends or now + MINUTE
    # In so many seconds it is over, by whoever's clock.
    wait = min(max(int((ends - now).total_seconds()) + 1, 1), 60)
    if limit:
        words = ngettext_lazy(
            "%(agent)s answers at most %(limit)s question a minute, all users together; "
            "try again in %(retry_after)s s.",
            "%(agent)s answers at most %(limit)s questions a minute, all users together; "
            "try again in %(retry_after)s s.",
            limit,
        )
    else:
        words = _("%(agent)s answers nobody: its limit is 0 questions a minute.")
    return RateLimited(
        words,
        agent=name,
        which="agent_minute",
        used=today.minute_queries,
        limit=limit,
        resets_at=ends.isoformat(),
        retry_after=wait,
    )


def _refusal(which: str, used: int, limit: int | None, words: Promise, **named: str) -> Iterator[QuotaExceeded]:
    """The refusal, where the limit is reached."""
    if limit is None or used < limit:
        return
    midnight = day_ends()
    yield QuotaExceeded(
        words,
        **named,
        which=which,
        used=used,
        limit=limit,
        resets_at=midnight.isoformat(),
        retry_after=int((midnight - datetime.now(UTC)).total_seconds()) + 1,
    )


# A statement of its own, so that the next one sees every slot: one that came while it ran, it could not lock.
_ALL_SLOTS = f"""
INSERT INTO accounts_agentusage (agent, day, slot, queries, tokens)
SELECT %(agent)s, {TODAY}, n, 0, 0 FROM generate_series(0, {SLOTS - 1}) AS n
ON CONFLICT (agent, day, slot) DO NOTHING"""

_SPREAD = f"""
WITH slots AS (
    SELECT queries, tokens FROM accounts_agentusage
    WHERE agent = %(agent)s AND day = {TODAY} ORDER BY slot FOR UPDATE
), taken AS (SELECT sum(queries) AS queries, sum(tokens) AS tokens FROM slots), total AS (
    SELECT GREATEST(taken.queries, used.queries) AS queries, GREATEST(used.tokens - taken.tokens, 0) AS tokens
    FROM taken, (
        SELECT sum(queries), sum(prompt_tokens + completion_tokens)
        FROM accounts_usageday WHERE agent = %(agent)s AND day = {TODAY}
    ) AS used(queries, tokens)
)
UPDATE accounts_agentusage u SET
    queries = div(total.queries, {SLOTS}) + (u.slot < total.queries %% {SLOTS})::int,
    tokens = u.tokens + CASE u.slot WHEN 0 THEN COALESCE(total.tokens, 0) ELSE 0 END
FROM total WHERE u.agent = %(agent)s AND u.day = {TODAY}"""


def spread(agent: int) -> None:
    """Makes an agent's slots fit a limit that is new or has changed. Call it in the transaction that changes it.

    What was used today is spread evenly, as shares of a limit are: then the slots together have room for exactly
    what the new limit leaves. What was used while the agent had no limit counts, too.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ALL_SLOTS, {"agent": agent})
        cursor.execute(_SPREAD, {"agent": agent})


def forget_minute(agent: int) -> None:
    """Removes what was counted of the minute of an agent that is gone."""
    AgentMinute.objects.filter(agent=agent).delete()
