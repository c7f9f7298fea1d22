"""The dashboard of the admin: what it counts, what it does not, whom it is for, and what it asks of the database."""

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import UsageDay, User
from common.ids import uuid7
from fixie_site import dashboard
from fixie_site import dashboard_numbers as numbers
from fixie_site.dashboard_numbers import Window
from registry.models import Agent, Liveness
from sessions_app.models import Run, Session
from tests.sessions_app.operators import allowed
from tests.sessions_app.queries import make_agent

MakeUser = Callable[..., User]


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    dashboard._kept.clear()
    yield
    dashboard._kept.clear()


@pytest.fixture
def agent(make_user: MakeUser) -> Agent:
    return make_agent(make_user().owner)


@pytest.fixture
def session(agent: Agent, make_user: MakeUser) -> Session:
    return Session.objects.create(handle=f"s-{uuid.uuid4().hex}", owner=make_user(), agent=agent)


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def ran(session: Session, created: datetime, took: float = 1.0, **fields: Any) -> Run:
    """A run that was asked then, under an id that tells nothing of the time, as clients' own do."""
    fields = {"status": "completed", "agent": session.agent, "finished": created + timedelta(seconds=took), **fields}
    run = Run.objects.create(id=uuid.uuid4(), session=session, query_seq=1, **fields)
    Run.objects.filter(pk=run.pk).update(created=created)
    return run


def test_a_window_ends_with_the_interval_that_is_going_on() -> None:
    window = Window.until(datetime(2026, 3, 4, 15, 42, 7, tzinfo=UTC), timedelta(minutes=30), 48)

    assert window.starts[-1] == datetime(2026, 3, 4, 15, 30, tzinfo=UTC)
    assert window.start == datetime(2026, 3, 3, 16, 0, tzinfo=UTC)
    assert not window.by_day
    days = Window.until(datetime(2026, 3, 4, 15, 42, 7, tzinfo=UTC), timedelta(days=1), 7)
    assert days.start == datetime(2026, 2, 26, tzinfo=UTC)
    assert days.by_day


def test_runs_are_counted_in_their_minute_and_copied_ones_not_at_all(session: Session, agent: Agent) -> None:
    now = timezone.now()
    window = Window.until(now, timedelta(minutes=1), 60)
    before = numbers.traffic(window)
    moment = window.starts[30] + timedelta(seconds=5)
    top = ran(session, moment, 2.0, prompt_tokens=5, completion_tokens=7)
    ran(session, moment, 4.0, parent=top, root=top, prompt_tokens=1)
    ran(session, moment, status="failed", error_code="agent_timeout")
    ran(session, moment, copied=True, status="failed", error_code="agent_timeout", prompt_tokens=1000)
    ran(session, window.start - timedelta(seconds=1), prompt_tokens=1000)

    after = numbers.traffic(window)

    assert after.queries - before.queries == 2, "children are nobody's queries"
    assert after.tokens - before.tokens == 13
    assert after.failed - before.failed == 1
    assert dict(after.failures)["agent_timeout"] == dict(before.failures).get("agent_timeout", 0) + 1
    interval = after.intervals[30]
    assert interval.start == window.starts[30]
    assert interval.queries - before.intervals[30].queries == 2
    assert (interval.median, interval.slow) == (2000, 2000)


def test_longer_windows_are_counted_by_day_in_what_users_used(session: Session) -> None:
    window = Window.until(timezone.now(), timedelta(days=1), 7)
    before = numbers.traffic(window)
    day = window.starts[3].date()
    UsageDay.objects.create(user=session.owner, agent=None, day=day, queries=11, prompt_tokens=3, completion_tokens=4)
    UsageDay.objects.create(user=session.owner, agent=session.agent_id, day=day, queries=11, prompt_tokens=3)
    UsageDay.objects.create(user=session.owner, agent=None, day=day - timedelta(days=7), queries=500)
    ran(session, window.starts[3] + timedelta(hours=5), 3.0)

    after = numbers.traffic(window)

    assert after.queries - before.queries == 11
    assert after.tokens - before.tokens == 7
    assert after.intervals[3].queries - before.intervals[3].queries == 11
    assert after.intervals[3].median > 0


def test_who_is_busiest(session: Session, agent: Agent) -> None:
    now = timezone.now()
    for _ in range(400):  # more than any agent of other tests, but the echo
        ran(session, now - timedelta(minutes=1))
    hour = Window.until(now, timedelta(minutes=1), 60)
    day = Window.until(now, timedelta(minutes=30), 48)
    UsageDay.objects.create(user=session.owner, agent=None, day=now.astimezone(UTC).date(), queries=100_000)

    assert (agent.pk, agent.agent_id, 400) in numbers.busiest_agents(hour, now)
    assert (session.owner_id, session.owner.username, 400) in numbers.busiest_users(hour)
    assert numbers.busiest_users(day)[0] == (session.owner_id, session.owner.username, 100_000)


def test_leases_tell_which_process_stopped_beating(session: Session) -> None:
    now = timezone.now()
    alive, dead = uuid7(), uuid7()
    unfinished = {"finished": None, "status": "in_progress"}
    runs = [
        ran(session, now, **unfinished, process=alive, heartbeat=now + timedelta(minutes=1)),
        ran(session, now, **unfinished, process=dead, heartbeat=now - timedelta(hours=1)),
    ]
    waiting = ran(session, now - timedelta(hours=2), finished=None, status="queued")
    try:
        work = numbers.work()
    finally:
        Run.objects.filter(pk__in=[waiting.pk, *(run.pk for run in runs)]).delete()

    leases = {lease.process: lease.lost for lease in work.leases}
    assert leases[str(alive)] is False
    assert leases[str(dead)] is True
    assert work.abandoned >= 1
    assert work.queued >= 1
    assert work.oldest_queued is not None


def test_agents_that_do_not_answer_are_counted(agent: Agent) -> None:
    total, silent = numbers.agents()
    Liveness.objects.create(agent=agent, healthy=False, next_check=timezone.now() + timedelta(days=1))

    assert numbers.agents() == (total, silent + 1)
    Agent.objects.filter(pk=agent.pk).update(enabled=False)
    assert numbers.agents() == (total - 1, silent)


@pytest.mark.parametrize("chosen", [*dashboard.RANGES, "nonsense"])
def test_the_page_asks_a_few_times_whatever_is_chosen_and_ten_operators_cost_as_much_as_one(
    make_user: MakeUser, chosen: str
) -> None:
    client = browser_of(allowed(make_user(), "sessions_app.view_run"))

    def asked(path: str) -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(path, {"range": chosen})
        assert answer.status_code == 200
        assert "Busiest agents" in answer.content.decode()
        return [query["sql"] for query in captured.captured_queries]

    first, second = asked("/admin/"), asked("/admin/dashboard")

    assert len(first) <= 14
    assert not [sql for sql in second if "sessions_app_run" in sql], "it is kept for a moment"
    for sql in first:
        if "sessions_app_run " in sql and "status IN ('queued'" not in sql:
            assert "created >= " in sql or "pg_total_relation_size" in sql, "a range of an index"
        assert "sessions_app_message " not in sql


def test_it_is_for_those_who_may_see_runs(make_user: MakeUser) -> None:
    stranger, staff = browser_of(make_user()), browser_of(allowed(make_user(), "sessions_app.view_session"))

    for path in ("/admin/", "/admin/dashboard"):
        assert Client().get(path).status_code == 302
        assert stranger.get(path).status_code == 302
    assert staff.get("/admin/dashboard").status_code == 403
    index = staff.get("/admin/").content.decode()
    assert "dashboard-numbers" not in index
    assert "/admin/sessions_app/session/" in index


def test_the_sidebar_leads_to_what_one_may_see(make_user: MakeUser) -> None:
    page = browser_of(allowed(make_user(), "sessions_app.view_run")).get("/admin/").content.decode()

    assert 'href="/admin/sessions_app/run/"' in page
    assert 'href="/admin/sessions_app/session/"' not in page
    assert 'href="/admin/accounts/user/"' not in page


def test_whoever_made_it_everybody_reads_it_in_their_own_language(make_user: MakeUser) -> None:
    client = browser_of(allowed(make_user(), "sessions_app.view_run"))
    charts = client.get("/admin/dashboard", headers={"Accept-Language": "en"}).context["charts"]
    client.get("/admin/dashboard", headers={"Accept-Language": "de"})

    again = client.get("/admin/dashboard", headers={"Accept-Language": "en"}).context["charts"]

    assert [chart["label"] for chart in again] == [chart["label"] for chart in charts]


def test_charts_stack_what_was_and_name_it() -> None:
    interval = numbers.Interval(datetime(2026, 1, 1, tzinfo=UTC), 10, 5, 6, 3, 100, 250)

    queries, latency, tokens = dashboard._charts([interval])

    parts = [[bar.value for bar in chart["chart"].columns[0].bars] for chart in (queries, latency, tokens)]
    assert parts == [[3, 7], [100, 150], [5, 6]]
    assert [colour for _, colour in queries["legend"]] == ["danger", "first"]
    assert isinstance(queries["chart"].columns[0].day, date)
