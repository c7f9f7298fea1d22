"""Usage over REST: one's own, the ledger of one's credits, and that of one's agents."""

from ninja import Query, Router

from accounts.actions import day_ends, usage_today
from accounts.auth import Authenticated, user_of
from accounts.models import User
from common.handles import split_agent_id
from registry.access import agent_for, own_agent_for
from registry.models import Agent
from registry.usage import figures
from registry.usage.schemas import (
    AgentUsageOut,
    CreditFilters,
    CreditOut,
    CreditPage,
    Days,
    Figures,
    Today,
    UsageFilters,
    UsagePage,
    usage_page,
)

usage_router = Router()
agent_usage_router = Router()


@usage_router.get("", response=UsagePage)
def read_usage(request: Authenticated, filters: Query[UsageFilters]) -> UsagePage:
    """What you have used, by day and agent: newest first, a day's total (`agent` null) ahead of its agents."""
    user = user_of(request.auth)
    since, until = filters.days()
    rows = figures.usage_of(user, since, until, agent=_agent(user, filters.agent), kind=filters.kind)
    return usage_page(usage_today(user), filters.page(rows), filters)


@usage_router.get("/credits", response=CreditPage)
def read_credits(request: Authenticated, filters: Query[CreditFilters]) -> CreditPage:
    """What was granted to you and what you have spent of it, newest first."""
    user = user_of(request.auth)
    entries = user.credit_entries.order_by("-pk")
    if filters.after is not None:
        entries = entries.filter(pk__lt=filters.after)
    found = list(entries[: filters.limit + 1])
    shown = found[: filters.limit]
    return CreditPage(
        credits=user.credits,
        items=[CreditOut.from_orm(entry) for entry in shown],
        next=shown[-1].pk if len(found) > filters.limit else None,
    )


@agent_usage_router.get("/{owner}/{handle}/usage", response=AgentUsageOut)
def read_agent_usage(request: Authenticated, owner: str, handle: str, filters: Query[Days]) -> AgentUsageOut:
    """What all users together asked an agent of yours, by day, newest first."""
    agent = own_agent_for(user_of(request.auth), owner, handle)
    days = figures.days_of(agent, *filters.days())
    return AgentUsageOut(agent=agent.agent_id, today=_today(agent), items=[Figures(**day) for day in days])


def _agent(user: User, agent_id: str) -> Agent | None:
    return agent_for(user, *split_agent_id(agent_id)) if agent_id else None


def _today(agent: Agent) -> Today:
    counted = figures.counted_today(agent)
    return Today(
        used=counted.queries,
        limit=agent.daily_query_limit,
        tokens=counted.tokens,
        token_limit=agent.daily_token_limit,
        resets_at=day_ends(),
    )
