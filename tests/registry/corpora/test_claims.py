"""Who reads which corpus: no owner has all readers, and no corpus has one for ever."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from django.test import override_settings
from psycopg import errors

from common.db import may_pass
from registry.actions import create_agent, delete_agent
from registry.corpora import rows
from registry.corpora.actions import reindex_corpora
from registry.corpora.documents import Read, Unread
from registry.models import Agent, Corpus
from registry.routing.embedder import in_use
from registry.transports.base import UrlCorpus
from tests.registry.corpora.library import corpora_of, put_agent
from tests.registry.readings import reads
from tests.sessions_app.people import wait_until

A, B = UrlCorpus(("http://127.0.0.1:1/a",)), UrlCorpus(("http://127.0.0.1:1/b",))


@pytest.fixture
def alone(people: Any) -> Iterator[None]:
    """No other corpora than the test's own, which no site sees either."""
    with transaction.atomic():
        Corpus.objects.all().delete()
        yield
        transaction.set_rollback(True)


def put_own_agent(people: Any, *corpora: UrlCorpus) -> Agent:
    """An agent of somebody else."""
    return create_agent(
        by=people.teammate, owner=people.teammate.username, handle="own", reading=reads(corpora=corpora)
    )


def claims(count: int) -> list[rows.Begun]:
    return [claim for claim in [rows.claim(in_use()) for _ in range(count)] if claim is not None]


def die(claim: rows.Claim) -> None:
    """As a process that was killed leaves it, once its lease has run out."""
    assert Corpus.objects.filter(pk=claim.corpus, reader=claim.reader).update(lease=Now())


@pytest.mark.parametrize(("readers", "held"), [(1, 1), (2, 2), (3, 2)])
def test_one_corpus_of_an_owner_is_read_at_a_time_and_a_few_in_all(
    alone: None, people: Any, readers: int, held: int
) -> None:
    mine = [put_agent(people, A, B) for _ in range(3)]
    other = put_own_agent(people, A, B)
    with override_settings(CORPUS_READERS=readers):
        assert [claim.agent_id for claim in claims(4)] == [mine[0].agent_id, other.agent_id][:held]


def claim_of(agent: Agent) -> rows.Begun:
    (claim,) = claims(1)
    assert claim.agent_id == agent.agent_id
    return claim


def doc(source: str) -> Read:
    return Read(source, "Words.", "", "text/plain", 6)


def test_a_corpus_over_which_readings_die_fails(alone: None, people: Any) -> None:
    agent = put_own_agent(people, A)
    for _ in range(rows.MAX_TRIES):
        claim = claim_of(agent)
        rows.store(claim, Unread("http://127.0.0.1:1/gone", "It is gone."))
        die(claim)
    # The first of them got as far as a document, so that one more was allowed.
    die(claim_of(agent))
    assert claims(1) == []
    (corpus,) = corpora_of(agent)
    assert (corpus.status, corpus.error, corpus.reader, corpus.lease) == ("failed", rows.STUCK, None, None)


def test_readings_that_get_further_or_were_stopped_by_us_may_go_on(alone: None, people: Any) -> None:
    agent = put_own_agent(people, A)
    for number in range(rows.MAX_TRIES + 1):
        claim = claim_of(agent)
        rows.store(claim, doc(str(number)))
        die(claim)
    for number in range(rows.MAX_TRIES + 1):
        claim = claim_of(agent)
        rows.release(claim) if number % 2 else rows.postpone(claim, "The embedder is away.")
        Corpus.objects.filter(pk=claim.corpus).update(lease=None)
    rows.finish(claim_of(agent))
    (corpus,) = corpora_of(agent)
    assert (corpus.status, corpus.tries, corpus.documents_done) == ("ready", 0, rows.MAX_TRIES + 1)


def test_what_is_too_large_for_the_database_is_not_tried_again() -> None:
    too_large, away = OperationalError(), OperationalError()
    too_large.__cause__, away.__cause__ = errors.ProgramLimitExceeded(), errors.AdminShutdown()
    assert not may_pass(too_large)
    assert not may_pass(errors.ProgramLimitExceeded())
    assert may_pass(away)
    assert may_pass(errors.AdminShutdown())
    assert not may_pass(errors.StringDataRightTruncation())


@pytest.fixture
def unclaimed() -> Iterator[None]:
    """No site claims a corpus meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [rows.CLAIMING])
        yield
        cursor.execute("SELECT pg_advisory_unlock(%s)", [rows.CLAIMING])


def claimed(corpus: int) -> rows.Begun:
    """The claim of this corpus; others that wait longer are let go of."""
    with override_settings(CORPUS_READERS=1_000):
        passed: list[rows.Begun] = []
        while (claim := rows.claim(in_use())) is not None and claim.corpus != corpus:
            passed.append(claim)
    for other in passed:
        rows.release(other)
    assert claim is not None
    return claim


def is_waiting(process: int) -> bool:
    """Whether the connection waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT cardinality(pg_blocking_pids(%s)) > 0", [process])
        return bool(cursor.fetchone()[0])


def test_an_agent_is_deleted_while_a_successor_of_its_corpus_is_claimed(make_user: Any, unclaimed: None) -> None:
    user = make_user()
    agent = create_agent(by=user, handle="read-anew", reading=reads(corpora=(A,)))
    [serving] = corpora_of(agent)
    Corpus.objects.filter(pk=serving.pk).update(status=Corpus.Status.READY, embedder=in_use())
    reindex_corpora(agent=agent)
    [successor] = Corpus.objects.filter(replaces=serving)
    process: Queue[int] = Queue()

    def delete() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            process.put(cursor.fetchone()[0])
        try:
            delete_agent(agent=agent)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            held = claimed(successor.pk)
            deleted = pool.submit(delete)
            deleting = process.get(timeout=10)
            wait_until(lambda: is_waiting(deleting))
        deleted.result(timeout=10)

    assert not Corpus.objects.filter(revision__agent=agent).exists()
    with pytest.raises(rows.LostCorpus):
        rows.store(held, Unread("http://127.0.0.1:1/a", "It is gone."))
