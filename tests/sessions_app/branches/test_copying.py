"""Copies of the beginning of a session: complete, gapless, and quick however long it is."""

import random
import time
import uuid
from datetime import timedelta

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from common.ids import uuid7
from sessions_app.branches.copying import copy_session
from sessions_app.models import Message, Run, Session
from tests.sessions_app.people import Person


def test_copies_are_gapless_and_name_nothing_outside(asker: Person) -> None:
    """Random sessions, with queues, agents below agents, errors and embeds, cut anywhere."""
    for seed in range(30):
        chance = random.Random(seed)
        source = _random_session(asker, chance)
        tops = list(source.all_runs.filter(parent=None).order_by("query_seq"))
        before = chance.choice(tops).query_seq + chance.randint(0, 1)
        copy = copy_session(source, before=before, owner=asker.user)
        _check_copy(source, copy, before)


def _random_session(asker: Person, chance: random.Random) -> Session:
    """Queries come in at any time; they are answered in turn, by trees of runs."""
    session = Session.objects.create(handle=f"s-{uuid.uuid4().hex[:16]}", owner=asker.user)
    messages: list[Message] = []
    runs: list[Run] = []
    start = timezone.now() - timedelta(days=chance.randint(0, 99))

    def say(run: Run, kind: str, reply: int | None) -> int:
        created = start + timedelta(seconds=len(messages))
        text = f"{kind} {len(messages)}"
        row = Message(session=session, seq=len(messages) + 1, run=run, kind=kind, text=text, in_reply_to=reply)
        row.created = created
        messages.append(row)
        return row.seq

    def begun(kind: str, above: Run | None, reply: int | None) -> Run:
        run = Run(id=uuid7(), session=session, query_seq=0, status=chance.choice(["completed", "failed", "canceled"]))
        if above is not None:
            run.parent_id, run.root_id = above.pk, above.root_id or above.pk
        run.query_seq = say(run, kind, reply)
        runs.append(run)
        return run

    waiting: list[Run] = []
    for _ in range(chance.randint(2, 8)):
        waiting.append(begun("query", None, None))
        while waiting and chance.random() < 0.6:
            run = waiting.pop(0)
            for _ in range(chance.randint(0, 3)):
                if chance.random() < 0.3:
                    waiting.append(begun("query", None, None))
                below = begun("agent_call", run, run.query_seq) if chance.random() < 0.5 else None
                if below is not None and chance.random() < 0.5:
                    deeper = begun("agent_call", below, below.query_seq)
                    say(deeper, "agent_output", deeper.query_seq)
                say(below or run, "thought", (below or run).query_seq)
            if chance.random() < 0.8:
                say(run, "response", run.query_seq)
    Run.objects.bulk_create(runs)
    Message.objects.bulk_create(messages)
    Session.objects.filter(pk=session.pk).update(last_seq=len(messages))
    session.refresh_from_db()
    return session


def _check_copy(source: Session, copy: Session, before: int) -> None:
    rows = {run.pk: run for run in source.all_runs.all()}

    def top(run: uuid.UUID) -> Run:
        return rows[rows[run].root_id or run]

    kept = [m for m in source.messages.order_by("seq") if top(m.run_id).query_seq < before]
    copied = list(copy.messages.order_by("seq"))
    assert [m.seq for m in copied] == list(range(1, len(kept) + 1))
    assert copy.last_seq == Session.objects.get(pk=copy.pk).last_seq == len(kept)
    assert [(m.kind, m.text, m.created) for m in copied] == [(m.kind, m.text, m.created) for m in kept]
    place = {old.seq: new.seq for old, new in zip(kept, copied, strict=True)}
    run_of = {old.run_id: new.run_id for old, new in zip(kept, copied, strict=True)}
    assert [m.in_reply_to for m in copied] == [place.get(m.in_reply_to or 0) for m in kept]
    assert [m.run_id for m in copied] == [run_of[m.run_id] for m in kept]
    runs = {run.pk: run for run in copy.all_runs.all()}
    assert runs.keys() == {*run_of.values()}
    for old, new in run_of.items():
        was, run = rows[old], runs[new]
        assert run.copied
        assert (run.status, run.query_seq) == (was.status, place[was.query_seq])
        assert (run.parent_id, run.root_id) == (
            run_of[was.parent_id] if was.parent_id else None,
            run_of[was.root_id] if was.root_id else None,
        )
    assert runs.keys().isdisjoint(rows)
    # Copied queries keep their numbers, on which the lists of versions stand.
    assert all(place[m.seq] == m.seq for m in kept if m.seq < before)


LONG = """
WITH turn AS (
    INSERT INTO sessions_app_run (id, session_id, query_seq, status)
    SELECT uuidv7(), %(session)s, number, 'completed' FROM generate_series(1, %(messages)s, 2) AS number
    RETURNING id, query_seq)
INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text, in_reply_to)
SELECT %(session)s, query_seq + place, id, kind, repeat('word ', 50), CASE place WHEN 1 THEN query_seq END
FROM turn, (VALUES (0, 'query'), (1, 'response')) AS message(place, kind)"""


def test_ten_thousand_messages_are_copied_within_a_second(asker: Person) -> None:
    session = Session.objects.create(handle=f"s-{uuid.uuid4().hex[:16]}", owner=asker.user, last_seq=10_000)
    with connection.cursor() as cursor:
        cursor.execute(LONG, {"session": session.pk, "messages": 10_000})
    with CaptureQueriesContext(connection) as queries:
        began = time.perf_counter()
        copy = copy_session(session, before=9_999, owner=asker.user)
        took = time.perf_counter() - began
    assert copy.last_seq == 9_998
    assert len(queries) <= 8
    # 0.3 s on an idle machine, and no more than some seconds on a very busy one.
    assert took < 5, took
