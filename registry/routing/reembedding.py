"""Moves the Router's index to another embedder, while the vectors of the old one serve."""

from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from common.db import run_db_safely
from common.errors import ModelUnavailable
from registry.models import SampleIndex, SampleQuery
from registry.routing.embedder import Embedder, embedder, embedder_named, in_use
from registry.routing.vectors import Vectors

log = structlog.get_logger()

BATCH = 64
# Whoever has noted nothing for so long has died, and somebody else goes on.
LEASE = timedelta(minutes=1)

Batch = list[tuple[int, str]]


async def follow_embedder() -> None:
    """Brings the index to the configured embedder, where it is another's, and returns when it is there.

    It goes batch by batch, so that little is lost with a process that dies; at the end the new vectors take the
    place of the old ones in one transaction. Where the old embedder can no longer be made, nobody can ask its vectors
    anything: the new one serves from the start, and finds what it has embedded by then. Returns early where another
    process is at work, and where the embedder fails, as `SampleIndex.error` then tells.
    """
    if await run_db_safely(_is_settled, in_use()):
        return  # before the embedder is loaded
    chosen = await embedder()
    if not await run_db_safely(_begin, chosen.name, is_lost=await _is_lost()):
        return
    log.info("index_moves", embedder=chosen.name)
    try:
        while not await run_db_safely(_swap, chosen.name):
            await _embed_missing(chosen)
    except ModelUnavailable as error:
        await run_db_safely(_note_error, chosen.name, error.message)


def _is_settled(configured: str) -> bool:
    """Whether there is nothing to move, and nothing that was begun."""
    return not SampleIndex.objects.filter(~Q(serving=configured) | ~Q(building="")).exists()


async def _is_lost() -> bool:
    index = await run_db_safely(SampleIndex.objects.first)
    return index is not None and await embedder_named(index.serving) is None


def _begin(name: str, *, is_lost: bool) -> bool:
    """Whether this process is to move the index to the embedder `name` now."""
    with transaction.atomic():
        index = SampleIndex.objects.select_for_update().get()
        if index.serving == name and index.building != name:
            _give_up_moving(index)
            return False
        if index.building != name:
            _forget_next()
            index.building, index.done, index.total = name, 0, SampleQuery.objects.count()
            index.serving = name if is_lost else index.serving
        elif index.modified > timezone.now() - LEASE:
            return False
        index.error = ""
        index.save()
        return True


def _give_up_moving(index: SampleIndex) -> None:
    """The site is back at the embedder that serves."""
    if index.building:
        _forget_next()
        index.building, index.done, index.total, index.error = "", 0, 0, ""
        index.save()


def _forget_next() -> None:
    SampleQuery.objects.exclude(next_embedding=None).update(next_embedding=None)


async def _embed_missing(chosen: Embedder) -> None:
    """Returns early where the index moves elsewhere by now."""
    after = 0
    while batch := await run_db_safely(_next_batch, after):
        vectors = await chosen.embed([text for _, text in batch])
        if not await run_db_safely(_store, chosen.name, batch, vectors):
            return
        after = batch[-1][0]


def _next_batch(after: int) -> Batch:
    missing = SampleQuery.objects.filter(next_embedding=None, pk__gt=after).order_by("pk")
    return list(missing.values_list("pk", "text")[:BATCH])


def _store(name: str, batch: Batch, vectors: Vectors) -> bool:
    with transaction.atomic():
        index = _held(name)
        if index is None:
            return False
        samples = [
            SampleQuery(pk=pk, embedding=vector, next_embedding=vector)
            for (pk, _), vector in zip(batch, vectors, strict=True)
        ]
        serves = index.serving == name
        SampleQuery.objects.bulk_update(samples, ["embedding", "next_embedding"] if serves else ["next_embedding"])
        index.done += len(batch)
        index.save()
        return True


def _swap(name: str) -> bool:
    """Lets the new vectors serve. No, where some are missing."""
    with transaction.atomic():
        index = _held(name)
        if index is None:
            return True
        if SampleQuery.objects.filter(next_embedding=None).exists():
            return False
        if index.serving == name:
            _forget_next()
        else:
            SampleQuery.objects.update(embedding=F("next_embedding"), next_embedding=None)
        index.serving, index.building, index.done = name, "", index.total
        index.save()
        return True


def _held(name: str) -> SampleIndex | None:
    """The index, locked, if it is on its way to the embedder `name`."""
    return SampleIndex.objects.select_for_update().filter(building=name).first()


def _note_error(name: str, error: str) -> None:
    SampleIndex.objects.filter(building=name).update(error=error, modified=timezone.now())
