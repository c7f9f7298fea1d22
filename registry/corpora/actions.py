"""Which corpora a revision has: made when it becomes current, taken over from the one before, or read anew."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q, QuerySet
from procrastinate.contrib.django import app
from procrastinate.exceptions import AlreadyEnqueued

from common.errors import InvalidRequest
from registry.corpora.declared import stored_corpora
from registry.models import Agent, Corpus, Revision
from registry.transports.base import FuncCorpus, UrlCorpus

TASK = "registry.index_corpora"

Entry = UrlCorpus | FuncCorpus
Kind, Status = Corpus.Kind, Corpus.Status
# The columns that tell what a corpus is of; an entry of a manifest as a row.
_ENTRY = ("kind", "urls", "exclude_patterns", "auth_token_func", "func")


def plan_corpora(*, revision: Revision, previous: int | None, reindex: bool = False) -> None:
    """Gives `revision`, which becomes the current one in this transaction, the corpora of its manifest.

    An unchanged one comes with what was read of it, from whatever revision of the agent has it, and where its reading
    failed, it is read again. Those of the revision `previous` stay, in case it comes back; all others go. With
    `reindex` what was read serves on until it has been read anew. Call it under the agent's lock.
    """
    declared = [_row_of(entry) for entry in stored_corpora((revision.manifest or {}).get("corpora", []))]
    of_agent = Corpus.objects.filter(revision__agent=revision.agent_id, replaces=None)
    _remove(of_agent.filter(status=Status.FAILED))
    found = sorted(of_agent, key=lambda corpus: _preference(corpus, revision))
    kept = [_taken(found, row) for row in declared]
    keys = [corpus.pk for corpus in kept if corpus is not None]
    _remove(of_agent.exclude(Q(pk__in=keys) | Q(revision=previous, status=Status.READY)))
    for position, (row, corpus) in enumerate(zip(declared, kept, strict=True)):
        if corpus is None:
            Corpus.objects.create(revision=revision, position=position, **row)
        else:
            _of(corpus).update(revision=revision, position=position)
    if reindex:
        _read_anew(Corpus.objects.filter(pk__in=keys))
    if declared:
        _defer()


def reindex_corpora(*, agent: Agent) -> None:
    """Has the corpora of the agent's current revision read anew; what was read serves until then.

    One that failed starts again. Raises InvalidRequest where there are none.
    """
    with transaction.atomic():
        locked = Agent.objects.select_for_update(no_key=True).filter(pk=agent.pk)
        current = list(locked.values_list("current_revision", flat=True))
        corpora = list(Corpus.objects.filter(revision__in=current, replaces=None))
        if not corpora:
            raise InvalidRequest("This agent has no corpora.", field="agent")
        _read_anew(corpora)
        _defer()


def stop_reading(corpora: QuerySet[Corpus]) -> None:
    """Makes whoever reads these wait for the end of this transaction, which removes them, to find them gone.

    Documents that came in between would keep them from being removed. A successor is locked before what it replaces,
    as in `rows`: there the end of a transaction that has written a successor makes sure that the other is there.
    """
    doomed = Corpus.objects.filter(Q(pk__in=corpora) | Q(replaces__in=corpora))
    list(doomed.order_by("-pk").select_for_update(of=("self",)).values_list("pk", flat=True))


def _remove(corpora: QuerySet[Corpus]) -> None:
    stop_reading(corpora)
    corpora.delete()


def _row_of(entry: Entry) -> dict[str, object]:
    if isinstance(entry, FuncCorpus):
        return {"kind": Kind.FUNC, "func": entry.func, "urls": [], "exclude_patterns": [], "auth_token_func": ""}
    return {
        "kind": Kind.URLS,
        "func": "",
        "urls": list(entry.urls),
        "exclude_patterns": list(entry.exclude_patterns),
        "auth_token_func": entry.auth_token_func,
    }


def entry_of(corpus: Corpus) -> Entry:
    """The entry of the manifest that the row was made of."""
    if corpus.kind == Kind.FUNC:
        return FuncCorpus(corpus.func)
    return UrlCorpus(tuple(corpus.urls), tuple(corpus.exclude_patterns), corpus.auth_token_func)


def _preference(corpus: Corpus, revision: Revision) -> tuple[bool, int]:
    """The revision's own first, in their order, so that none is moved to where another still is."""
    is_own = corpus.revision_id == revision.pk
    return not is_own, corpus.position if is_own else -corpus.pk


def _taken(found: list[Corpus], row: dict[str, object]) -> Corpus | None:
    """The first corpus in `found` of the same entry, which is taken out."""
    for corpus in found:
        if all(getattr(corpus, name) == row[name] for name in _ENTRY):
            found.remove(corpus)
            return corpus
    return None


def _of(corpus: Corpus) -> QuerySet[Corpus]:
    """The corpus, and the one that is about to take its place."""
    return Corpus.objects.filter(Q(pk=corpus.pk) | Q(replaces=corpus))


def _read_anew(corpora: Iterable[Corpus]) -> None:
    """A ready corpus gets a successor, another one where it has one; one that is being read goes on."""
    for corpus in corpora:
        entry = {name: getattr(corpus, name) for name in ("revision_id", "position", *_ENTRY)}
        if corpus.status == Status.READY:
            _remove(Corpus.objects.filter(replaces=corpus))
            Corpus.objects.create(replaces=corpus, **entry)
        elif corpus.status == Status.FAILED:
            corpus.delete()
            Corpus.objects.create(**entry)


def _defer() -> None:
    """Has the corpora read as soon as this transaction is committed."""
    try:
        with transaction.atomic():
            app.configure_task(TASK, queueing_lock=TASK).defer(timestamp=0)
    except AlreadyEnqueued:
        return
