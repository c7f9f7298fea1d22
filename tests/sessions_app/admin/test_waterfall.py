"""Where a run's time went, as bars."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import User
from common.ids import uuid7
from registry.models import Agent
from sessions_app.admin.waterfall import WIDTH, Bar, messages_of, runs_of, waterfall
from sessions_app.models import Message, Run, Session
from tests.sessions_app.queries import make_agent

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.fixture
def front(make_user: Any) -> Agent:
    user: User = make_user()
    return make_agent(user.owner)


@pytest.fixture
def session(front: Agent, make_user: Any) -> Session:
    return Session.objects.create(handle=f"s-{uuid7().hex}", owner=make_user(), agent=front, last_seq=5)


def make_run(session: Session, agent: Agent, seq: int, created: float, **fields: Any) -> Run:
    run = Run.objects.create(id=uuid7(), session=session, agent=agent, query_seq=seq, status="completed", **fields)
    Run.objects.filter(pk=run.pk).update(created=at(created))
    return Run.objects.get(pk=run.pk)


def say(run: Run, seq: int, kind: str, seconds: float) -> None:
    message = Message.objects.create(session=run.session, run=run, seq=seq, kind=kind, text="x" * seq)
    Message.objects.filter(pk=message.pk).update(created=at(seconds))


def bars(run: Run, *, content: bool = False) -> list[Bar]:
    runs = runs_of(run)
    return waterfall(runs, messages_of(runs, content=content), now=at(10), content=content).bars


def test_a_child_is_below_the_question_that_began_it(session: Session, front: Agent) -> None:
    top = make_run(session, front, 1, 0, started=at(1), finished=at(10))
    child = make_run(session, front, 3, 4, started=at(4), finished=at(8), parent=top, root=top)
    other = make_run(session, front, 9, 20, started=at(20), finished=at(21))
    for run, seq, kind, seconds in (
        *((top, 1, "query", 0.0), (top, 2, "thought", 3.0)),
        *((child, 3, "agent_call", 4.0), (child, 4, "agent_output", 8.0)),
        *((top, 5, "response", 10.0), (other, 9, "query", 20.0)),
    ):
        say(run, seq, kind, seconds)

    found = bars(top)

    assert [(bar.kind, bar.depth) for bar in found] == [
        *(("run", 0), ("query", 1), ("thought", 1)),
        *(("run", 1), ("agent_call", 2), ("agent_output", 2)),
        ("response", 1),
    ]
    whole, _, thought, below, *_rest = found
    assert (whole.x, whole.width, whole.waited) == (0, WIDTH, WIDTH // 10)
    assert (thought.x, thought.width, thought.size) == (100, 200, 2)
    assert (below.x, below.width, below.took) == (400, 400, "4.0 s")
    assert [bar.run for bar in bars(child)] == [child.pk] * 3, "a child has a picture of its own"


def test_texts_are_there_only_where_they_were_opened(session: Session, front: Agent) -> None:
    run = make_run(session, front, 1, 0, started=at(0), finished=at(1))
    say(run, 1, "query", 0)

    assert [bar.text for bar in bars(run)] == [None, None]
    assert [bar.text for bar in bars(run, content=True)] == [None, "x"]


def test_what_is_not_finished_lasts_until_now(session: Session, front: Agent) -> None:
    waiting = make_run(session, front, 1, 0)

    [bar] = bars(waiting)

    assert (bar.width, bar.waited, bar.took) == (WIDTH, WIDTH, "10.0 s")
