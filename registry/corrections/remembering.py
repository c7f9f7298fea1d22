"""Corrections: somebody asked an agent instead of the one that answered, and like queries go there from now on.

They are sample queries of one user's. The agent's owners may accept one, which makes it everybody's.
"""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import User
from common.db import run_db_safely
from common.errors import NotFound
from registry.fields import QUERY_MAX
from registry.models import Agent, SampleQuery
from registry.routing import indexing
from registry.routing.samples import index_later
from registry.words import keep_words

CORRECTION = SampleQuery.Source.CORRECTION
# Of one user at one agent; the oldest one goes.
CORRECTIONS_MAX = 200


@dataclass(frozen=True, slots=True)
class ToldSample:
    """A sample query as it is told to somebody: it leads queries like it to its agent.

    `suggested`: of one user only, until an owner of the agent accepts it; `yours` are one's own. `source`, and `clash`,
    another agent that says it answers this too, are for who may change the agent; the source also for who made it.
    """

    id: int
    text: str
    suggested: bool
    yours: bool
    source: str | None
    clash: str | None


async def remember_correction(*, user: int, agent: int, text: str) -> None:
    """From now on sends queries like `text` of the user with this id to the agent with this id.

    What the user had said about the very same text before, of other agents, is forgotten. Does nothing where the text
    leads everybody to the agent, where the agent has been deleted, and for a text that is too long to be a sample.
    Raises ModelUnavailable.
    """
    text = text.strip()
    if len(text) > QUERY_MAX:
        return
    stored = False
    while not stored:
        by = await indexing.embedders()
        [sample] = await indexing.embed([text], by)
        stored = await run_db_safely(_store, sample, by, user, agent)


def _store(sample: SampleQuery, by: indexing.Embedders, user: int, agent: int) -> bool:
    """Whether the vectors are still of the index's embedders; only then the sample is stored, where it has to be."""
    with transaction.atomic():
        if not indexing.hold_index(by):
            return False
        if Agent.objects.select_for_update(no_key=True).filter(pk=agent).exists():
            sample.agent_id, sample.user_id, sample.source = agent, user, CORRECTION
            _replace(sample)
        return True


def _replace(sample: SampleQuery) -> None:
    """Stores a correction in place of those that it contradicts, and of the oldest where they become too many."""
    corrections = SampleQuery.objects.filter(user=sample.user_id)
    corrections.filter(text=sample.text).exclude(agent=sample.agent_id).delete()
    if SampleQuery.objects.filter(agent=sample.agent_id, user=None, text=sample.text).exists():
        return
    SampleQuery.objects.bulk_create([sample], ignore_conflicts=True)
    there = corrections.filter(agent=sample.agent_id).order_by("-pk").values_list("pk", flat=True)
    SampleQuery.objects.filter(pk__in=list(there[CORRECTIONS_MAX:])).delete()


def accept_correction(*, correction: SampleQuery) -> SampleQuery:
    """Lets a correction of somebody's route everybody's queries; returns the sample query that does so now.

    Those of others with the same text are part of it. Raises NotFound where it has been deleted meanwhile.
    """
    with transaction.atomic():
        same = _locked_with_the_same_text(correction)
        public = next((one for one in same if one.user_id is None), None) or _own_among(same, correction)
        SampleQuery.objects.filter(pk__in=[one.pk for one in same if one != public]).delete()
        public.user = None
        public.save(update_fields=["user"])
        # In the background it is compared with other agents' samples.
        index_later(public.agent_id)
    return public


def dismiss_correction(*, correction: SampleQuery) -> None:
    """Deletes a correction that was made or accepted, and those of other users with the same text."""
    with transaction.atomic():
        same = _locked_with_the_same_text(correction)
        SampleQuery.objects.filter(pk__in=[one.pk for one in same], source=CORRECTION).delete()
        keep_words(correction.agent_id)


def forget_correction(*, correction: SampleQuery) -> None:
    """Deletes one user's own correction."""
    correction.delete()


def samples_for(agent: Agent, user: User | None, *, suggested: bool | None = None) -> QuerySet[SampleQuery]:
    """The agent's sample queries, without their vectors: those of everybody, and the corrections of `user`.

    None for `user` gives those of all users, each text once. `suggested` leaves only these, or leaves them out.
    """
    made = _suggestions(agent) if user is None else agent.sample_queries.filter(user=user)
    public = agent.sample_queries.filter(user=None)
    found = public | made if suggested is None else made if suggested else public
    return found.select_related("clash__owner").defer("embedding", "next_embedding")


def corrections_of(user: User) -> QuerySet[SampleQuery]:
    """All corrections of the user's at agents that they see, without their vectors."""
    made = SampleQuery.objects.filter(user=user, agent__in=Agent.objects.visible_to(user))
    return made.select_related("agent__owner", "clash__owner").defer("embedding", "next_embedding")


def told(sample: SampleQuery, user: User, *, mine: bool) -> ToldSample:
    """What `user` is told of a sample query; `mine`: they may change its agent."""
    yours = sample.user_id == user.pk
    return ToldSample(
        id=sample.pk,
        text=sample.text,
        suggested=sample.user_id is not None,
        yours=yours,
        source=sample.source if mine or yours else None,
        clash=sample.clash.agent_id if mine and sample.clash else None,
    )


def _suggestions(agent: Agent) -> QuerySet[SampleQuery]:
    """What the agent's owners may accept: the corrections of its users, each text once."""
    made = SampleQuery.objects.filter(user__isnull=False)
    earlier = made.filter(agent=OuterRef("agent"), text=OuterRef("text"), pk__lt=OuterRef("pk"))
    return agent.sample_queries.filter(~Exists(earlier), user__isnull=False)


def _locked_with_the_same_text(correction: SampleQuery) -> list[SampleQuery]:
    # The agent's lock makes those who decide about the same text take turns.
    Agent.objects.select_for_update(no_key=True).filter(pk=correction.agent_id).first()
    same = SampleQuery.objects.filter(agent=correction.agent_id, text=correction.text)
    return list(same.select_for_update().defer("embedding", "next_embedding"))


def _own_among(same: list[SampleQuery], correction: SampleQuery) -> SampleQuery:
    if correction not in same:
        raise NotFound("This correction has been deleted meanwhile.", field="sample_query")
    return same[same.index(correction)]
