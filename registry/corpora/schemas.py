"""What corpora look like over REST."""

from datetime import datetime
from typing import Literal

from ninja import Field, Schema

from registry.corpora.state import CorpusState
from registry.models import Corpus


class Progress(Schema):
    """How far a reading is. `error` says why it failed, or where it stopped short."""

    id: int
    status: str
    error: str
    documents_done: int
    documents_failed: int
    vector_count: int
    bytes_read: int
    created: datetime
    modified: datetime


class CorpusOut(Progress):
    """One of a manifest's `corpora`. While it is read anew, what was read before serves on."""

    kind: str = Field(description="`urls` or `func`.")
    urls: list[str]
    exclude_patterns: list[str]
    func: str
    anew: Progress | None = Field(description="The reading that is to take its place.")


class CorporaOut(Schema):
    corpora: list[CorpusOut]


class DocumentFilters(Schema):
    limit: int = Field(50, ge=1, le=100)
    after: int = Field(0, ge=0, description="The `next` of the page before.")
    status: Literal["done", "failed", "skipped"] | None = None


class DocumentOut(Schema):
    """A page or document. `error` says why it could not be read, or was passed over."""

    id: int
    source: str
    title: str
    content_type: str
    size: int
    status: str
    error: str
    fetched: datetime


class DocumentPage(Schema):
    documents: list[DocumentOut]
    next: int | None


def corpora_out(states: list[CorpusState]) -> CorporaOut:
    return CorporaOut(corpora=[_corpus_out(state) for state in states])


def _corpus_out(state: CorpusState) -> CorpusOut:
    corpus = state.serving
    return CorpusOut(
        kind=corpus.kind,
        urls=corpus.urls,
        exclude_patterns=corpus.exclude_patterns,
        func=corpus.func,
        anew=_progress(state.anew) if state.anew else None,
        **_progress(corpus).dict(),
    )


def _progress(corpus: Corpus) -> Progress:
    return Progress.from_orm(corpus)


def document_page(corpus: Corpus, filters: DocumentFilters) -> DocumentPage:
    """Documents of the corpus, in the order in which they came."""
    found = corpus.documents.filter(pk__gt=filters.after)
    if filters.status is not None:
        found = found.filter(status=filters.status)
    documents = list(found.order_by("pk")[: filters.limit + 1])
    shown = documents[: filters.limit]
    return DocumentPage(
        documents=[DocumentOut.from_orm(document) for document in shown],
        next=shown[-1].pk if len(documents) > filters.limit else None,
    )
