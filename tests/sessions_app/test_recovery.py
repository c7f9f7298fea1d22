"""Several processes that share their runs: stopping them from elsewhere, handing them over, following them live."""

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sessions_app.models import Message, Run, Session
from tests.sessions_app.abandoned import abandoned_run
from tests.sessions_app.cluster import ALIAS, SOON, Asker, Cluster
from tests.sessions_app.gates import Gate, Stage
from tests.sessions_app.people import error_of, wait_until
from tests.sites import free_port

# Nothing here may come of a lease that ran out.
LONG_LEASE = {"RUN_LEASE_SECONDS": "600", "SHUTDOWN_GRACE_SECONDS": "3"}


@pytest.fixture(scope="module")
def here(cluster: Cluster, stage: Stage) -> Iterator[Asker]:
    with cluster.process(**LONG_LEASE, LLM_BASE_URL=stage.model_url) as asker:
        yield asker


@pytest.fixture(scope="module")
def there(cluster: Cluster, stage: Stage) -> Iterator[Asker]:
    """Another process, which `here` reaches through the database alone."""
    with cluster.process(**LONG_LEASE, LLM_BASE_URL=stage.model_url) as asker:
        yield asker


def state_of(run: str) -> tuple[str, str]:
    return Run.objects.using(ALIAS).values_list("status", "error_code").get(pk=run)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in_its_process", "in_another_process"])
def test_cancelling_a_run_closes_its_call_keeps_its_text_and_lets_the_session_go_on(
    here: Asker, there: Asker, stage: Stage, elsewhere: bool
) -> None:
    gate = Gate()
    agent = stage.query_agent(here.http, "a long", gate, " story")
    session = here.new_session(agent)
    with here.following(session) as watcher:
        run = here.post(session, "tell")
        gate.until_reached()
        watcher.until(lambda: watcher.texts.get(run) == "a long")
        waiting = here.post(session, "@fixie/echo and now?")
        (there if elsewhere else here).cancel(run)
        assert gate.left.wait(SOON)
        assert watcher.until_ended(run) == "canceled"
        assert watcher.until_ended(waiting) == "completed"
    queries = [("query", "tell"), ("query", "@fixie/echo and now?")]
    assert there.story(session) == [*queries, ("response", "a long"), ("response", "and now?")]
    assert state_of(run) == ("canceled", "canceled")


def test_a_waiting_run_can_be_canceled_from_another_process(here: Asker, there: Asker, stage: Stage) -> None:
    gate = Gate()
    session = here.new_session(stage.query_agent(here.http, gate, "done"))
    here.post(session, "one")
    waiting = here.post(session, "two")
    gate.until_reached()
    there.cancel(waiting)
    gate.open.set()
    assert there.story(session) == [("query", "one"), ("query", "two"), ("response", "done")]
    assert state_of(waiting)[0] == "canceled"


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in_its_process", "in_another_process"])
def test_deleting_a_session_stops_its_run_and_nothing_of_it_comes_back(
    here: Asker, there: Asker, stage: Stage, elsewhere: bool
) -> None:
    func, told = Gate(), Gate()
    shot, teller = stage.code_shot(here.http, one=func), stage.query_agent(here.http, "a long", told)
    answers = [here.begin(agent, "go") for agent in (shot, teller)]
    func.until_reached()
    told.until_reached()
    agents = [agent.partition("/")[2] for agent in (shot, teller)]
    sessions = list(Session.objects.using(ALIAS).filter(all_runs__agent__handle__in=agents))
    for session in sessions:
        (there if elsewhere else here).delete(session.handle)
    assert func.left.wait(SOON)
    assert told.left.wait(SOON)
    for answer in answers:
        assert "gone" in error_of(answer.result(SOON))["message"]
    assert here.ask("fixie/echo", "still there?").json()["message"]["text"] == "still there?"
    ids = [session.pk for session in sessions]
    assert len(ids) == 2
    assert not Session.objects.using(ALIAS).filter(pk__in=ids).exists()
    assert not Run.objects.using(ALIAS).filter(session__in=ids).exists()
    assert not Message.objects.using(ALIAS).filter(session__in=ids).exists()


def test_a_process_that_is_told_to_stop_ends_what_it_can_and_hands_over_the_rest(
    cluster: Cluster, here: Asker, there: Asker, stage: Stage
) -> None:
    soon, late = Gate(), Gate()
    agents = stage.query_agent(here.http, soon, "soon"), stage.query_agent(here.http, "la", late, "te")
    with cluster.process(**LONG_LEASE, LLM_BASE_URL=stage.model_url) as leaver:
        sessions = [leaver.new_session(agent) for agent in agents]
        runs = [leaver.post(session, "go") for session in sessions]
        waiting = leaver.post(sessions[1], "@fixie/echo next")
        soon.until_reached()
        late.until_reached()
        stopping = threading.Thread(target=leaver.site.stop)
        stopping.start()
        soon.open.set()
        assert here.story(sessions[0]) == [("query", "go"), ("response", "soon")]
        assert late.left.wait(SOON)
        late.until_reached(times=2)
        stopping.join(SOON)
        assert leaver.site.process.returncode is not None
    late.open.set()
    queries = [("query", "go"), ("query", "@fixie/echo next")]
    assert there.story(sessions[1]) == [*queries, ("response", "late"), ("response", "next")]
    assert stage.keys(agents[0]) == [f"{runs[0]}/0"]
    assert stage.keys(agents[1]) == [f"{runs[1]}/0"] * 2
    assert state_of(waiting)[0] == "completed"


def test_a_separate_worker_says_that_it_lives_while_it_executes_a_run(
    cluster: Cluster, here: Asker, there: Asker, stage: Stage
) -> None:
    gate = Gate()
    agent = stage.query_agent(here.http, "a long", gate, " story")

    def heartbeat() -> object:
        return Run.objects.using(ALIAS).values_list("heartbeat", flat=True).get(session=session)

    with cluster.worker(**LONG_LEASE, LLM_BASE_URL=stage.model_url), here.asleep(), there.asleep():
        session = abandoned_run(agent, status="in_progress")
        gate.until_reached()
        for _ in range(2):
            last = heartbeat()
            wait_until(lambda last=last: heartbeat() != last, SOON)
        gate.open.set()
        wait_until(lambda: Run.objects.using(ALIAS).get(session=session).status == "completed", SOON)
    assert here.story(session.handle) == [("query", "hello?"), ("response", "a long story")]


class Redis:
    """A Redis server that keeps nothing, on a port of its own."""

    def __init__(self, directory: str) -> None:
        self.port = free_port()
        self._words = ["redis-server", "--port", str(self.port), "--save", "", "--dir", directory]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen([*self._words, "--bind", "127.0.0.1"], stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(SOON)


@pytest.fixture(scope="module")
def redis() -> Iterator[Redis]:
    with tempfile.TemporaryDirectory() as directory:
        redis = Redis(directory)
        redis.start()
        yield redis
        redis.stop()


@contextmanager
def on_redis(cluster: Cluster, redis: Redis) -> Iterator[Asker]:
    """A process whose heartbeats are so slow that what is quick came over Redis."""
    url = f"redis://127.0.0.1:{redis.port}/0"
    with cluster.process(**{**LONG_LEASE, "RUN_HEARTBEAT_SECONDS": "300", "REDIS_URL": url}) as asker:
        yield asker


@pytest.fixture(scope="module")
def near(cluster: Cluster, redis: Redis) -> Iterator[Asker]:
    with on_redis(cluster, redis) as asker:
        yield asker


@pytest.fixture(scope="module")
def far(cluster: Cluster, redis: Redis) -> Iterator[Asker]:
    """Another process on the same Redis."""
    with on_redis(cluster, redis) as asker:
        yield asker


def test_text_grows_before_a_client_of_another_process(near: Asker, far: Asker, stage: Stage) -> None:
    first, second = Gate(), Gate()
    session = near.new_session(stage.query_agent(near.http, "a", first, " long", second, " story"))
    with far.following(session) as early:
        run = near.post(session, "tell")
        early.until(lambda: early.texts.get(run) == "a")
        first.open.set()
        early.until(lambda: early.texts.get(run) == "a long")
        with far.following(session) as late:
            late.until(lambda: late.texts.get(run) == "a long")
            second.open.set()
            for watcher in (early, late):
                assert watcher.until_ended(run) == "completed"
                assert watcher.texts[run] == "a long story"
                assert watcher.story == [("query", "tell"), ("response", "a long story")]


def test_a_cancel_reaches_a_run_of_another_process_at_once(near: Asker, far: Asker, stage: Stage) -> None:
    gate = Gate()
    session = near.new_session(stage.query_agent(near.http, "a long", gate))
    with far.following(session) as watcher:
        run = near.post(session, "tell")
        watcher.until(lambda: watcher.texts.get(run) == "a long")
        far.cancel(run)
        assert gate.left.wait(SOON)
        assert watcher.until_ended(run) == "canceled"
        assert watcher.story == [("query", "tell"), ("response", "a long")]


def test_clients_see_text_grow_again_after_redis_was_restarted(
    near: Asker, far: Asker, stage: Stage, redis: Redis
) -> None:
    gate = Gate()
    session = near.new_session(stage.query_agent(near.http, "a long", gate, " story"))
    with far.following(session) as watcher:
        redis.stop()
        redis.start()
        run = near.post(session, "tell")
        watcher.until(lambda: watcher.texts.get(run) == "a long")
        gate.open.set()
        assert watcher.until_ended(run) == "completed"
        assert watcher.story == [("query", "tell"), ("response", "a long story")]
