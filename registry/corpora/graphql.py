"""The corpora of revisions over GraphQL, as indexes to search in."""

import enum
from datetime import datetime

import strawberry

from accounts.graphql import Context
from registry.corpora.state import CorpusState, states_of
from registry.models import Corpus


@strawberry.enum(description="How the building of a corpus stands.")
class IndexStatus(enum.Enum):
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


_STATUS: dict[str, IndexStatus] = {
    Corpus.Status.PENDING: IndexStatus.IN_PROGRESS,
    Corpus.Status.INDEXING: IndexStatus.IN_PROGRESS,
    Corpus.Status.READY: IndexStatus.COMPLETED,
    Corpus.Status.FAILED: IndexStatus.FAILED,
}


@strawberry.type(description="A corpus of a revision, as an index to search in.")
class IndexedCorpusType:
    status: IndexStatus = strawberry.field(description="Of the latest reading.")
    created: datetime
    modified: datetime
    vector_count: int | None = strawberry.field(description="Passages that are searched now.")
    documents_done: int
    documents_failed: int
    error: str = strawberry.field(description="Why it failed, or where it stopped short.")


def corpora_of(context: Context, revisions: list[int]) -> list[list[IndexedCorpusType]]:
    """Those of each revision, by its id."""
    found = states_of(revisions)
    return [[_indexed(state) for state in found.get(revision, [])] for revision in revisions]


def _indexed(state: CorpusState) -> IndexedCorpusType:
    reading = state.reading
    return IndexedCorpusType(
        status=_STATUS[reading.status],
        created=reading.created,
        modified=reading.modified,
        vector_count=state.serving.vector_count,
        documents_done=reading.documents_done,
        documents_failed=reading.documents_failed,
        error=reading.error,
    )
