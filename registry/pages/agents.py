"""The list of agents: those that a reader may see, the ones they asked lately first, then by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Max, Q, TextField, Value
from django.db.models.functions import Cast

from accounts.models import UsageDay, User
from registry.access import owners_of
from registry.liveness.health import Health, health_of
from registry.models import Agent, AgentQuerySet, Revision
from registry.models.agents import BY_NAME
from registry.pages.searching import matching
from registry.specs import queries_of
from registry.wanted import Wanted

AGENTS_SHOWN = 24
SAMPLES_SHOWN = 2
# So many agents that the reader asked lately lead the list.
LATELY = 20
LATELY_DAYS = 60


@dataclass(frozen=True, slots=True)
class Card:
    """An agent in the list. `answers` is whether it can be asked now; `mine`, whether the reader may change it."""

    agent: Agent
    health: Health
    samples: list[str]
    answers: bool
    mine: bool


@dataclass(frozen=True, slots=True)
class AgentsPage:
    """`more` is what the next page comes `after`; None where there is none."""

    wanted: Wanted
    cards: list[Card]
    more: str | None


def agents_page(reader: User | None, wanted: Wanted) -> AgentsPage:
    """A page of the list. At most six queries, however many agents there are; none of them counts."""
    mine = owners_of(reader) if reader else set()
    lately = _asked_lately(reader) if reader else []
    seen = Agent.objects.visible_to(reader)
    visible = seen.filter(Q(enabled=True) | Q(owner__in=mine))
    chosen = matching(_filtered(visible, wanted, reader, mine), wanted.q)
    chosen = chosen.select_related("owner", "current_revision", "liveness")
    agents = _next(chosen, _last(seen, wanted.after), lately)
    shown = agents[:AGENTS_SHOWN]
    more = shown[-1].agent_id if len(agents) > AGENTS_SHOWN else None
    return AgentsPage(wanted, [_card(agent, mine) for agent in shown], more)


def _card(agent: Agent, mine: set[int]) -> Card:
    revision = agent.current_revision
    is_mine = agent.owner_id in mine
    return Card(
        agent=agent,
        health=health_of(agent, mine=is_mine),
        samples=queries_of(agent, SAMPLES_SHOWN),
        answers=agent.enabled and revision is not None and revision.state == Revision.State.READY,
        mine=is_mine,
    )


def _filtered(agents: AgentQuerySet, wanted: Wanted, reader: User | None, mine: set[int]) -> AgentQuerySet:
    if wanted.owner:
        agents = agents.filter(owner__handle=wanted.owner)
    if reader and wanted.whose == "mine":
        agents = agents.filter(owner=reader.owner_id)
    if reader and wanted.whose == "team":
        agents = agents.filter(owner__in=mine - {reader.owner_id})
    if wanted.kind:
        agents = agents.filter(current_revision__transport=wanted.kind)
    if wanted.state == "well":
        ready = Q(enabled=True, current_revision__state=Revision.State.READY)
        agents = agents.filter(ready).exclude(liveness__healthy=False)
    if wanted.state == "off":
        agents = agents.filter(enabled=False, owner__in=mine)
    return agents


def _asked_lately(reader: User) -> list[int]:
    """The agents that the reader asked in the last weeks, the latest first."""
    since = datetime.now(UTC).date() - timedelta(days=LATELY_DAYS)
    days = UsageDay.objects.filter(user=reader, day__gte=since, agent__isnull=False, queries__gt=0)
    latest = days.values("agent").annotate(last=Max("day")).order_by("-last", "agent")[:LATELY]
    return [row["agent"] for row in latest if row["agent"] is not None]


def _last(seen: AgentQuerySet, after: str) -> Agent | None:
    """The agent with the id `after`, of those that the reader sees: what comes after another would tell its name."""
    owner, _, handle = after.partition("/")
    named = seen.filter(owner__handle=owner, handle=handle).annotate(by_name=BY_NAME).only("pk")
    return named.first() if after else None


def _next(agents: AgentQuerySet, last: Agent | None, lately: Sequence[int]) -> list[Agent]:
    """Those after `last`, one more than are shown: the ones asked lately, then the others along their index."""
    first = _of_lately(agents, last, lately)
    others = agents.exclude(pk__in=lately).annotate(by_name=BY_NAME).order_by("by_name", "pk")
    if last is not None and last.pk not in lately:
        name = Cast(Value(last.by_name), TextField())  # type: ignore[attr-defined]  # annotated
        others = others.filter(Q(by_name__gt=name) | Q(pk__gt=last.pk), by_name__gte=name)
    return [*first, *others[: AGENTS_SHOWN + 1 - len(first)]]


def _of_lately(agents: AgentQuerySet, last: Agent | None, lately: Sequence[int]) -> list[Agent]:
    """Those of the agents that were asked lately and come after `last`, in order."""
    if last is not None:
        lately = lately[lately.index(last.pk) + 1 :] if last.pk in lately else ()
    found = agents.in_bulk(lately)
    return [found[pk] for pk in lately if pk in found]
