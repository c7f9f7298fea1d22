"""What an agent's page shows."""

from dataclasses import dataclass

from accounts.models import User
from registry.access import may_read_log, owners_of
from registry.agent_log import log_of
from registry.corpora.state import CorpusState, corpora_of
from registry.corrections import samples_for
from registry.forms import Queries
from registry.health import Health, health_of
from registry.limits import Remaining, remaining
from registry.models import Agent, AgentIndex, AgentLog, Revision, SampleQuery
from registry.specs import queries_of

SAMPLES_MAX = 12
# Of what the owner sees of the index; the rest is over REST.
INDEXED_MAX = 300
SUGGESTIONS_MAX = 50
TAUGHT_MAX = 50


@dataclass(frozen=True, slots=True)
class OwnersPart:
    """For those who may change the agent. `indexed` are sample queries that speak for everybody, clashes first."""

    revision: Revision | None
    corpora: list[CorpusState]
    form: Queries
    index: AgentIndex | None
    suggestions: list[SampleQuery]
    indexed: list[SampleQuery]
    clashes: int


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


def agent_page(agent: Agent, user: User, form: Queries | None = None) -> AgentPage:
    """The page of an agent that comes with its owner, current revision and liveness. `form` is one that was refused."""
    revision = agent.current_revision
    mine = agent.owner_id in owners_of(user)
    taught = () if mine else samples_for(agent, user, suggested=True).order_by("-pk")[:TAUGHT_MAX]
    return AgentPage(
        agent=agent,
        answers=agent.enabled and revision is not None and revision.state == Revision.State.READY,
        health=health_of(agent, mine=mine),
        limits=_limits(agent),
        samples=queries_of(agent, SAMPLES_MAX),
        taught=list(taught),
        own=_owners_part(agent, form) if mine else None,
        log=_log(agent) if mine or may_read_log(user) else None,
    )


def _log(agent: Agent) -> list[AgentLog] | None:
    revision, entries = agent.current_revision, list(log_of(agent))
    runs = revision is not None and revision.deployment == Revision.Deployment.COMMAND
    return entries if runs or entries else None


def _limits(agent: Agent) -> Remaining | None:
    limits = remaining(agent)
    return limits if any((limits.minute, limits.day, limits.tokens, limits.reported)) else None


def _owners_part(agent: Agent, form: Queries | None) -> OwnersPart:
    indexed = list(samples_for(agent, None, suggested=False).order_by("clash", "pk")[:INDEXED_MAX])  # NULLs last
    return OwnersPart(
        revision=agent.current_revision,
        corpora=corpora_of(agent),
        form=form or Queries(initial={"queries": agent.queries}, agent=agent),
        index=AgentIndex.objects.filter(agent=agent).first(),
        suggestions=list(samples_for(agent, None, suggested=True).order_by("-pk")[:SUGGESTIONS_MAX]),
        indexed=indexed,
        clashes=sum(sample.clash_id is not None for sample in indexed),
    )
