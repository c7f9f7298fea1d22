"""How far an agent's corpora are, as their owner sees it."""

from collections.abc import Collection
from dataclasses import dataclass

from registry.models import Agent, Corpus, CorpusDocument

Status = Corpus.Status
PROBLEMS_MAX = 50


@dataclass(frozen=True, slots=True)
class CorpusState:
    """A corpus that is searched, and `anew`, the reading that is to take its place, where there is one."""

    serving: Corpus
    anew: Corpus | None

    @property
    def reading(self) -> Corpus:
        """The latest reading: what its owner waits for."""
        return self.anew or self.serving

    @property
    def problems(self) -> list[CorpusDocument]:
        """Documents that could not be read, some of them."""
        return list(self.reading.documents.filter(status=CorpusDocument.Status.FAILED).order_by("pk")[:PROBLEMS_MAX])

    @property
    def is_being_read(self) -> bool:
        return self.reading.status in (Status.PENDING, Status.INDEXING)


def states_of(revisions: Collection[int]) -> dict[int, list[CorpusState]]:
    """The corpora of each of these revisions that has some, in the order of its manifest. One query."""
    corpora = Corpus.objects.filter(revision__in=revisions).order_by("position")
    anew = {corpus.replaces_id: corpus for corpus in corpora if corpus.replaces_id is not None}
    states: dict[int, list[CorpusState]] = {}
    for corpus in corpora:
        if corpus.replaces_id is None:
            states.setdefault(corpus.revision_id, []).append(CorpusState(corpus, anew.get(corpus.pk)))
    return states


def corpora_of(agent: Agent) -> list[CorpusState]:
    """The corpora of the agent's current revision."""
    current = agent.current_revision_id
    return [] if current is None else states_of([current]).get(current, [])
