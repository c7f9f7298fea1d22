"""What an agent's page shows."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext as _

from accounts.models import Membership, User
from common.charts import Chart, Series, bars_by_day
from registry.access import may_read_log, owners_of
from registry.agent_log import log_of
from registry.corpora.state import CorpusState, corpora_of
from registry.corrections.remembering import samples_for
from registry.forms import Address, Details, Forms, Queries
from registry.limits import Remaining, remaining
from registry.liveness.health import Health, health_of
from registry.models import Agent, AgentIndex, AgentLog, Revision, SampleQuery
from registry.specs import queries_of
from registry.usage.figures import days_of

SAMPLES_MAX = 12
# Of what the owner sees of the index; the rest is over REST.
INDEXED_MAX = 300
SUGGESTIONS_MAX = 50
TAUGHT_MAX = 50
REVISIONS_MAX = 20
USAGE_DAYS = 30


@dataclass(frozen=True, slots=True)
class OwnersPart:
    """For those who may change the agent. `indexed` are sample queries that speak for everybody, clashes first.

    `usage` is None where nobody has asked it in the last `USAGE_DAYS` days. `may_delete` is for the owner, and for
    admins of an organization.
    """

    revision: Revision | None
    revisions: list[Revision]
    may_move: bool
    may_delete: bool
    usage: Chart | None
    corpora: list[CorpusState]
    queries: Queries
    details: Details
    address: Address
    index: AgentIndex | None
    suggestions: list[SampleQuery]
    indexed: list[SampleQuery]
    clashes: list[SampleQuery]


@dataclass(frozen=True, slots=True)
class AgentPage:
    """An agent. `answers` is whether it can be asked now; `taught` are corrections of a reader who is no owner.

    `limits` is None where it has none and speaks of none; `log` for who may not read it, and where no program runs.
    """

    agent: Agent
    answers: bool
    health: Health
    limits: Remaining | None
    samples: list[str]
    taught: list[SampleQuery]
    own: OwnersPart | None
    log: list[AgentLog] | None


def agent_page(agent: Agent, reader: User | None, forms: Forms | None = None) -> AgentPage:
    """The page of an agent that comes with its owner, current revision and liveness.

    `forms` has one that was refused.
    """
    revision = agent.current_revision
    owner = reader if reader and agent.owner_id in owners_of(reader) else None
    return AgentPage(
        agent=agent,
        answers=agent.enabled and revision is not None and revision.state == Revision.State.READY,
        health=health_of(agent, mine=owner is not None),
        limits=_limits(agent),
        samples=queries_of(agent, SAMPLES_MAX),
        taught=_taught(agent, reader) if reader and not owner else [],
        own=_owners_part(agent, owner, forms or Forms()) if owner else None,
        log=_log(agent) if owner or (reader and may_read_log(reader)) else None,
    )


def _taught(agent: Agent, reader: User) -> list[SampleQuery]:
    return list(samples_for(agent, reader, suggested=True).order_by("-pk")[:TAUGHT_MAX])


def _log(agent: Agent) -> list[AgentLog] | None:
    revision, entries = agent.current_revision, list(log_of(agent))
    runs = revision is not None and revision.deployment == Revision.Deployment.COMMAND
    return entries if runs or entries else None


def _limits(agent: Agent) -> Remaining | None:
    limits = remaining(agent)
    return limits if any((limits.minute, limits.day, limits.tokens, limits.reported)) else None


def _owners_part(agent: Agent, user: User, forms: Forms) -> OwnersPart:
    revision = agent.current_revision
    indexed = list(samples_for(agent, None, suggested=False).order_by("clash", "pk")[:INDEXED_MAX])  # NULLs last
    return OwnersPart(
        revision=revision,
        revisions=list(agent.revisions.defer("manifest", "options").order_by("-pk")[:REVISIONS_MAX]),
        may_move=revision is None or revision.deployment == Revision.Deployment.EXTERNAL,
        may_delete=_may_delete(agent, user),
        usage=_usage(agent),
        corpora=corpora_of(agent),
        queries=forms.queries or Queries(initial={"queries": agent.queries}, agent=agent),
        details=forms.details or Details.of(agent),
        address=forms.address or Address(initial={"deployment_url": revision.target if revision else ""}),
        index=AgentIndex.objects.filter(agent=agent).first(),
        suggestions=list(samples_for(agent, None, suggested=True).order_by("-pk")[:SUGGESTIONS_MAX]),
        indexed=indexed,
        clashes=[sample for sample in indexed if sample.clash_id is not None],
    )


def _may_delete(agent: Agent, user: User) -> bool:
    ruled = user.membership_set.filter(role=Membership.Role.ADMIN, organization__owner=agent.owner_id)
    return agent.owner_id == user.owner_id or ruled.exists()


def _usage(agent: Agent) -> Chart | None:
    today = datetime.now(UTC).date()
    days = [today - timedelta(days=ago) for ago in reversed(range(USAGE_DAYS))]
    asked = {row["day"]: row["queries"] for row in days_of(agent, days[0], today)}
    if not asked:
        return None
    return bars_by_day(days, [Series(_("Questions"), [asked.get(day, 0) for day in days])])
