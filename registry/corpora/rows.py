"""The transactions of whoever reads a corpus: each a function, none of which waits for the network.

A corpus is read by one process at a time, which renews its lease for as long as it lives. Nobody else writes what
the corpus holds: a reading that has lost it, or whose corpus is gone, hears so (`LostCorpus`) and ends.
"""

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Now

from registry.corpora.actions import Entry, entry_of
from registry.corpora.documents import Read, Unread
from registry.models import Agent, Chunk, Corpus, CorpusDocument
from registry.routing.vectors import Vectors

Status, Document = Corpus.Status, CorpusDocument.Status
UNREAD = (Status.PENDING, Status.INDEXING)
CONTENT_TYPE_MAX = 100
# Where a corpus that another replaces stands for the moment, out of its way.
ASIDE = 10_000
# So many readings may die over a corpus without a new document; then it has failed, so that it stops no others.
MAX_TRIES = 5
STUCK = f"Reading it was broken off {MAX_TRIES} times without getting any further."
# Of the advisory lock under which corpora are claimed, one after the other.
CLAIMING = 0x0C0_4B05

# Of a corpus that nobody reads, and whose next reading is the first one.
_FREE: dict[str, Any] = {"reader": None, "lease": None, "tries": 0}


class LostCorpus(Exception):
    """The corpus is gone, or somebody else reads it now."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A corpus in the hands of one reading, `reader`."""

    corpus: int
    reader: UUID


@dataclass(frozen=True, slots=True)
class Begun(Claim):
    """What there is to read, and what of it is done: the sources, and how many passages they have.

    `agent_id` is `owner/handle`, `target` where the agent runs.
    """

    agent_id: str
    target: str
    entry: Entry
    done: Collection[str]
    passages: int


def is_any_waiting(embedder: str) -> bool:
    """Whether `claim` or `claim_to_embed` may find one."""
    unread, unlike = Q(status__in=UNREAD), Q(status=Status.READY) & ~Q(embedder=embedder)
    return _free(Corpus.objects.filter(unread | unlike)).exists()


def claim(embedder: str) -> Begun | None:
    """Takes a corpus that waits to be read, or whose reader died; None where there is none, or enough are read.

    One of an owner is read at a time, `CORPUS_READERS` in all. What a reading with another embedder has left is
    thrown away. Fails those over which `MAX_TRIES` readings died in a row.
    """
    with transaction.atomic():
        found = _take(Corpus.objects.filter(status__in=UNREAD))
        if found is None:
            return None
        if found.embedder != embedder:
            found.documents.all().delete()
        found.embedder, found.status, found.error = embedder, Status.INDEXING, ""
        _count(found)
        done = found.documents.filter(status=Document.DONE).values_list("source", flat=True)
        revision = Corpus.objects.select_related("revision__agent__owner").get(pk=found.pk).revision
        return Begun(
            corpus=found.pk,
            reader=_reader_of(found),
            agent_id=revision.agent.agent_id,
            target=revision.target,
            entry=entry_of(found),
            done=frozenset(done),
            passages=found.vector_count,
        )


def claim_to_embed(embedder: str) -> Claim | None:
    """Takes a corpus whose vectors are of another embedder; None as `claim`."""
    with transaction.atomic():
        found = _take(Corpus.objects.filter(status=Status.READY).exclude(embedder=embedder))
        return None if found is None else Claim(found.pk, _reader_of(found))


def _take(corpora: QuerySet[Corpus]) -> Corpus | None:
    """The oldest of these that nobody has, now held by a new reading; not of an owner of whom one is held."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [CLAIMING])
    _give_up(corpora)
    held = Corpus.objects.filter(reader__isnull=False, lease__gt=Now())
    if held.count() >= settings.CORPUS_READERS:
        return None
    owners = held.values("revision__agent__owner")
    free = _free(corpora).exclude(revision__agent__owner__in=owners).order_by("pk")
    found = free.select_for_update(of=("self",), skip_locked=True).first()
    if found is not None:
        found.reader, found.tries = uuid.uuid4(), found.tries + 1
        Corpus.objects.filter(pk=found.pk).update(reader=found.reader, lease=_lease(), tries=found.tries)
    return found


def _give_up(corpora: QuerySet[Corpus]) -> None:
    """Fails those of these that nobody has, and that were tried often enough."""
    stuck = _free(corpora.filter(tries__gte=MAX_TRIES)).select_for_update(of=("self",), skip_locked=True)
    failed = Corpus.objects.filter(pk__in=[corpus.pk for corpus in stuck])
    failed.update(status=Status.FAILED, error=STUCK, modified=Now(), **_FREE)


def _free(corpora: QuerySet[Corpus]) -> QuerySet[Corpus]:
    return corpora.filter(Q(lease=None) | Q(lease__lte=Now()))


def _reader_of(corpus: Corpus) -> UUID:
    assert corpus.reader is not None
    return corpus.reader


def _lease() -> Any:
    return Now() + timedelta(seconds=settings.CORPUS_LEASE_SECONDS)


def renew(held: Claim) -> bool:
    """Whether the corpus is still this reading's, which it then is for another `CORPUS_LEASE_SECONDS`."""
    return bool(_rows_of(held).update(lease=_lease()))


def store(held: Claim, result: Read | Unread, texts: Sequence[str] = (), vectors: Iterable[Any] = ()) -> None:
    """Stores a document with its passages. One that is stored already stays as it is. Raises LostCorpus."""
    with transaction.atomic():
        corpus = _locked(held)
        fields = _fields_of(result)
        document, is_new = corpus.documents.get_or_create(source=result.source, defaults=fields)
        if not is_new:
            if document.status == Document.DONE:
                return
            corpus.documents.filter(pk=document.pk).update(**fields)
        # What could not be read is looked at again by every reading: only that some of it now can is progress.
        if is_new or isinstance(result, Read):
            corpus.tries = 0
        Chunk.objects.bulk_create(
            Chunk(corpus=corpus, document=document, position=position, text=text, embedding=vector)
            for position, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        )
        _count(corpus)


def _fields_of(result: Read | Unread) -> dict[str, Any]:
    if isinstance(result, Unread):
        return {"status": Document.SKIPPED if result.skipped else Document.FAILED, "error": result.reason}
    content_type = result.content_type[:CONTENT_TYPE_MAX]
    return {
        "status": Document.DONE,
        "error": "",
        "title": result.title,
        "content_type": content_type,
        "size": result.size,
    }


def _count(corpus: Corpus) -> None:
    """Saves the corpus with its progress."""
    progress = corpus.documents.aggregate(
        documents_done=Count("pk", filter=Q(status=Document.DONE)),
        documents_failed=Count("pk", filter=Q(status=Document.FAILED)),
        bytes_read=Sum("size", default=0),
    )
    for name, value in progress.items():
        setattr(corpus, name, value)
    corpus.vector_count = corpus.chunks.count()
    corpus.save(update_fields=[*progress, "vector_count", "embedder", "status", "error", "tries", "modified"])


def postpone(held: Claim, reason: str) -> None:
    """Lets go of the corpus; somebody goes on with it when its lease has run out. Says what it waits for."""
    _rows_of(held).update(**_FREE | {"lease": _lease()}, error=reason, modified=Now())


def release(held: Claim) -> None:
    """Lets go of the corpus, for somebody else to go on at once."""
    _rows_of(held).update(**_FREE)


def finish(held: Claim, reason: str = "") -> None:
    """Ends the reading; `reason` says why it stopped short, where it did. Without any document it has failed.

    One that replaces another takes its place, unless it failed. Raises LostCorpus.
    """
    with transaction.atomic():
        # Under the agent's lock, like whatever else moves or removes a corpus of it.
        agents = Agent.objects.filter(revisions__corpora=held.corpus)
        agents.select_for_update(of=("self",), no_key=True).first()
        corpus = _locked(held)
        if not corpus.documents_done and not reason:
            failed = corpus.documents.exclude(status=Document.DONE).order_by("pk").first()
            reason = f"None of its documents could be read. {failed.source}: {failed.error}" if failed else ""
        is_failed = bool(reason) and not corpus.documents_done
        corpus.status, corpus.error = Status.FAILED if is_failed else Status.READY, reason
        corpus.reader, corpus.lease, corpus.tries = None, None, 0
        corpus.save()
        if corpus.replaces_id is not None and not is_failed:
            _take_place(corpus, corpus.replaces_id)


def fail(held: Claim, reason: str) -> None:
    """Ends a reading that cannot go on."""
    _rows_of(held).update(status=Status.FAILED, error=reason, modified=Now(), **_FREE)


def _take_place(corpus: Corpus, replaced: int) -> None:
    old = Corpus.objects.select_for_update(of=("self",)).get(pk=replaced)
    Corpus.objects.filter(pk=replaced).update(position=old.position + ASIDE)
    corpus.replaces, corpus.revision_id, corpus.position = None, old.revision_id, old.position
    corpus.save(update_fields=["replaces", "revision", "position"])
    Corpus.objects.filter(pk=replaced).delete()


def texts_of(held: Claim) -> list[tuple[int, str]]:
    """The passages of the corpus by their ids."""
    return list(Chunk.objects.filter(corpus=held.corpus).order_by("pk").values_list("pk", "text"))


def embed_anew(held: Claim, embedder: str, keys: Sequence[int], vectors: Vectors) -> None:
    """Replaces the vectors of the passages `keys`, which are all there are, and lets go. Raises LostCorpus."""
    with transaction.atomic():
        corpus = _locked(held)
        chunks = [Chunk(pk=key, embedding=vector) for key, vector in zip(keys, vectors, strict=True)]
        Chunk.objects.bulk_update(chunks, ["embedding"], batch_size=500)
        corpus.embedder, corpus.reader, corpus.lease, corpus.tries = embedder, None, None, 0
        corpus.save(update_fields=["embedder", "reader", "lease", "tries"])


def _rows_of(held: Claim) -> QuerySet[Corpus]:
    return Corpus.objects.filter(pk=held.corpus, reader=held.reader)


def _locked(held: Claim) -> Corpus:
    corpus = _rows_of(held).select_for_update(of=("self",)).first()
    if corpus is None:
        raise LostCorpus
    return corpus
