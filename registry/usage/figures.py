"""What was used, day by day: of one's own, and of an agent by all its users together. Reading only."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from django.db.models import BigIntegerField, F, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Concat

from accounts.models import AgentUsage, UsageDay, User
from registry.models import Agent, AgentQuerySet

KINDS = ("queries", "prompt_tokens", "completion_tokens")
# The place of the day's total, ahead of all agents.
TOTAL = 0


@dataclass(frozen=True, slots=True)
class Sums:
    """Queries and tokens of language models."""

    queries: int
    tokens: int


def name_of(agents: AgentQuerySet) -> Subquery:
    """To annotate rows of usage with `owner/handle`: null for a day's total, and for an agent not among `agents`."""
    found = agents.filter(pk=OuterRef("agent")).order_by()
    return Subquery(found.values_list(Concat("owner__handle", Value("/"), "handle"))[:1])


def usage_of(
    user: User, since: date, until: date, *, agent: Agent | None = None, kind: str | None = None
) -> QuerySet[UsageDay]:
    """The user's rows of these days, newest first, the day's total ahead of its agents.

    They are annotated with `place`, their order in a day, and `name`, which agents that the user cannot see (any
    more) lack.
    """
    rows = UsageDay.objects.filter(user=user, day__range=(since, until))
    if agent is not None:
        rows = rows.filter(agent=agent.pk)
    if kind is not None:
        rows = rows.filter(**{f"{kind}__gt": 0})
    place = Coalesce("agent", TOTAL, output_field=BigIntegerField())
    named = rows.annotate(place=place, name=name_of(Agent.objects.visible_to(user)))
    return named.order_by("-day", "place")


def agent_of(row: Any) -> str | None:
    """What a row with a `name` (`name_of`) is about: None for the day's total."""
    name: str | None = row.name
    return name or (None if row.agent is None else f"(gone {row.agent})")


def rows_after(rows: QuerySet[UsageDay], day: date, place: int) -> QuerySet[UsageDay]:
    """Those of `usage_of` that come after the row of this day and place."""
    return rows.filter(Q(day__lt=day) | Q(day=day, place__gt=place))


def days_of(agent: Agent, since: date, until: date) -> QuerySet[UsageDay, Any]:
    """The sums of all users of `agent`, a day with use each, newest first."""
    rows = UsageDay.objects.filter(agent=agent.pk, day__range=(since, until)).order_by("-day").values("day")
    return rows.annotate(**{kind: Sum(kind) for kind in KINDS})


def counted_today(agent: Agent) -> Sums:
    """What of the agent's limits is used: what was accepted today, where it has a limit; else what was answered."""
    today = datetime.now(UTC).date()
    slots = AgentUsage.objects.filter(agent=agent.pk, day=today).aggregate(queries=Sum("queries"), tokens=Sum("tokens"))
    asked = UsageDay.objects.filter(agent=agent.pk, day=today).aggregate(
        queries=Sum("queries"), tokens=Sum(F("prompt_tokens") + F("completion_tokens"))
    )
    queries = asked if agent.daily_query_limit is None else slots
    tokens = asked if agent.daily_token_limit is None else slots
    return Sums(queries["queries"] or 0, tokens["tokens"] or 0)
