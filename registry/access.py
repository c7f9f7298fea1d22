"""The only way an edge loads an agent for a caller."""

from django.db.models import Case, Q, QuerySet, Value, When
from django.utils.translation import gettext_lazy as _

from accounts.models import Owner, User
from common.errors import InvalidRequest, NotFound
from common.handles import HANDLE, SITE_OWNER
from registry.models import Agent, AgentQuerySet, Corpus, SampleQuery


def agent_for(user: User | None, owner: str, handle: str, *more: str) -> Agent:
    """The agent `owner/handle` if `user` may see it, with its owner, current revision, liveness and `more` relations.

    One query. Raises NotFound.
    """
    return _one(Agent.objects.visible_to(user), owner, handle, more)


def own_agent_for(user: User, owner: str, handle: str, *more: str) -> Agent:
    """The agent `owner/handle` if `user` may change it: theirs, or of an organization they are a member of.

    Raises NotFound, for a published agent of somebody else too.
    """
    return _one(Agent.objects.owned_by(user), owner, handle, more)


def agent_to_delete_for(user: User, owner: str, handle: str, *more: str) -> Agent:
    """The agent `owner/handle` if `user` may delete it: theirs, or of an organization they are an admin of.

    Raises NotFound, for other members of the organization too.
    """
    return _one(Agent.objects.deletable_by(user), owner, handle, more)


def may_read_log(user: User) -> bool:
    """Whether `user` may read what every agent's programs log, and not only their own agents'."""
    return user.has_perm("registry.view_agentlog")


def logged_agent_for(user: User, owner: str, handle: str) -> Agent:
    """The agent `owner/handle` if `user` may read its log: theirs, or of an organization they are a member of; any
    for administrators.

    Raises NotFound, for a published agent of somebody else too.
    """
    return _one(Agent.objects.all() if may_read_log(user) else Agent.objects.owned_by(user), owner, handle, ())


def suggestion_for(user: User, owner: str, handle: str, sample: int) -> SampleQuery:
    """A correction of the agent `owner/handle`, made or accepted, if `user` may change that. Raises NotFound."""
    agent = own_agent_for(user, owner, handle)
    return _correction(agent.sample_queries.all(), sample)


def correction_to_delete_for(user: User, owner: str, handle: str, sample: int) -> tuple[SampleQuery, bool]:
    """A correction that `user` made, or any where they may change the agent; and whether they may do that.

    Raises NotFound.
    """
    agent = agent_for(user, owner, handle)
    mine = agent.owner_id in owners_of(user)
    return _correction(agent.sample_queries.all() if mine else agent.sample_queries.filter(user=user), sample), mine


def own_corpus_for(user: User, owner: str, handle: str, corpus: int) -> Corpus:
    """A corpus of the agent `owner/handle`, if `user` may change that. Raises NotFound."""
    agent = own_agent_for(user, owner, handle)
    found = Corpus.objects.filter(revision__agent=agent, pk=corpus).first()
    if found is None:
        raise NotFound("The agent has no such corpus.", field="corpus")
    return found


def owners_of(user: User) -> set[int]:
    """Ids of the owners `user` may act for: their own, and their organizations'. One query."""
    organizations = Owner.objects.filter(organization__members=user).values_list("id", flat=True)
    return {user.owner_id, *organizations}


def nearest_first(agents: AgentQuerySet, user: User | None) -> AgentQuerySet:
    """`agents` that `user` may change, then the site's own, then all others: each by name, those without one last."""
    mine = When(owner__in=owners_of(user) if user else [], then=Value(0))
    nearness = Case(mine, When(owner__handle=SITE_OWNER, then=Value(1)), default=Value(2))
    return agents.order_by(nearness, Case(When(Q(name=""), then=Value(1)), default=Value(0)), "name", "pk")


def owner_for(user: User, handle: str) -> Owner | None:
    """The owner `handle` if `user` may act for it."""
    if not HANDLE.fullmatch(handle):
        return None
    return Owner.objects.filter(pk__in=owners_of(user), handle=handle).first()


def may_set_command(user: User | None) -> bool:
    """Whether `user` may say which programs this machine runs for agents."""
    return user is not None and user.has_perm("registry.set_command")


def check_may_set_command(user: User | None, *, field: str = "command") -> None:
    """Raises InvalidRequest naming `field` unless `may_set_command`."""
    if not may_set_command(user):
        raise InvalidRequest(_("Only administrators may say which program an agent runs."), field=field)


def _correction(samples: QuerySet[SampleQuery], sample: int) -> SampleQuery:
    found = samples.filter(pk=sample, source=SampleQuery.Source.CORRECTION).defer("embedding", "next_embedding").first()
    if found is None:
        raise NotFound("There is no such correction, or it is not yours.", field="sample_query")
    return found


def _one(agents: AgentQuerySet, owner: str, handle: str, more: tuple[str, ...]) -> Agent:
    agent = None
    # What is no handle names nothing, and PostgreSQL fails on a NUL character.
    if HANDLE.fullmatch(owner) and HANDLE.fullmatch(handle):
        loaded = agents.select_related("owner", "current_revision", "liveness", "index", *more)
        agent = loaded.filter(owner__handle=owner, handle=handle).first()
    if agent is None:
        raise NotFound(_("There is no such agent, or it is not yours to see."), field="agent")
    return agent
