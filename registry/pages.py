"""What an agent's page shows."""

from dataclasses import dataclass

from accounts.models import User
from registry.access import owners_of
from registry.corpora.state import CorpusState, corpora_of
from registry.corrections import samples_for
from registry.forms import Queries
from registry.health import Health, health_of
from registry.models import Agent, AgentIndex, Revision, SampleQuery
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
    """An agent. `answers` is whether it can be asked now; `taught` are corrections of a reader who is no owner."""

    agent: Agent
    answers: bool
    health: Health
    samples: list[str]
    taught: list[SampleQuery]
    own: OwnersPart | None


def agent_page(agent: Agent, user: User, form: Queries | None = None) -> AgentPage:
    """The page of an agent that comes with its owner, current revision and liveness. `form` is one that was refused."""
    revision = agent.current_revision
    mine = agent.owner_id in owners_of(user)
    taught = () if mine else samples_for(agent, user, suggested=True).order_by("-pk")[:TAUGHT_MAX]
    return AgentPage(
        agent=agent,
        answers=revision is not None and revision.state == Revision.State.READY,
        health=health_of(agent, mine=mine),
        samples=queries_of(agent, SAMPLES_MAX),
        taught=list(taught),
        own=_owners_part(agent, form) if mine else None,
    )


def _owners_part(agent: Agent, form: Queries | None) -> OwnersPart:
    indexed = list(samples_for(agent, None, suggested=False).order_by("clash", "pk")[:INDEXED_MAX])  # NULLs last
    return OwnersPart(
        revision=agent.current_revision,
        corpora=corpora_of(agent),
        form=form or Queries(initial={"queries": agent.queries}),
        index=AgentIndex.objects.filter(agent=agent).first(),
        suggestions=list(samples_for(agent, None, suggested=True).order_by("-pk")[:SUGGESTIONS_MAX]),
        indexed=indexed,
        clashes=sum(sample.clash_id is not None for sample in indexed),
    )
