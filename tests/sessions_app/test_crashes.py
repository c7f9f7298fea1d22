"""Processes and databases that die in the middle of runs: nothing is lost, and nothing happens twice."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid5

import httpx2
import pytest
from django.db.models import Count, Q, Sum
from django.utils import timezone

from accounts.models import UsageDay
from sessions_app.models import Run, Session
from tests.sessions_app.abandoned import abandoned_run
from tests.sessions_app.cluster import ALIAS, SOON, Asker, Cluster, Watcher
from tests.sessions_app.embedded import contents, ref, returning
from tests.sessions_app.gates import Gate, Stage
from tests.sessions_app.people import error_of, wait_until

BOTH_FUNCS = [
    ("func_call", "Ask Func[one]: x"),
    ("func_output", "Func[one] says: one of x"),
    ("func_call", "Ask Func[two]: y"),
    ("func_output", "Func[two] says: two of y"),
    ("response", "both"),
]


@pytest.fixture(scope="module")
def survivor(cluster: Cluster, stage: Stage) -> Iterator[Asker]:
    """The process that is left when the others die."""
    with cluster.process(LLM_BASE_URL=stage.model_url) as asker:
        yield asker


@pytest.fixture(scope="module")
def other(cluster: Cluster, stage: Stage) -> Iterator[Asker]:
    """A second process."""
    with cluster.process(LLM_BASE_URL=stage.model_url) as asker:
        yield asker


@dataclass(frozen=True)
class Cut:
    """A run that was cut off when its process was killed, and somebody who followed it in another process."""

    agent: str
    session: str
    run: str
    watcher: Watcher


@pytest.fixture(scope="module")
def cuts(cluster: Cluster, stage: Stage, survivor: Asker) -> Iterator[dict[str, Cut]]:
    """Runs at five places of their lives, and one that waits its turn, whose process is then killed."""
    gates = {name: Gate() for name in ("between", "call", "embed", "stream", "model", "below")}
    ask_one, ask_two = ("Ask Func[one]: x",), ("Ask Func[two]: y",)
    stage.model_writes("between", ask_one, (gates["between"], *ask_two), ("A: both",))
    stage.model_writes("call", ask_one, ask_two, ("A: both",))
    stage.model_writes("embed", ask_one, ("Ask Func[two]: #1",), ("A: see #1",))
    stage.model_writes("model", ask_one, ("A: a long", gates["model"], " story"))
    http = survivor.http
    asked = stage.query_agent(http, "a long", gates["below"], " story")
    stage.model_writes("below", (f"Ask Agent[{asked}]: a story",), ("A: told",))
    agents = {
        "between": stage.code_shot(http),
        "call": stage.code_shot(http, two=gates["call"]),
        "embed": stage.code_shot(http, one=returning("#new", {"new": ref("a painting")}), two=gates["embed"]),
        "stream": stage.query_agent(http, "a long", gates["stream"], " story"),
        "model": stage.code_shot(http),
        "below": stage.code_shot(http, asks=asked),
    }
    with ExitStack() as stack, cluster.process(LLM_BASE_URL=stage.model_url) as victim:
        cuts = {}
        for name, agent in agents.items():
            session = victim.new_session(agent)
            here = stack.enter_context(victim.following(session))
            there = stack.enter_context(survivor.following(session))
            cut = cuts[name] = Cut(agent, session, victim.post(session, name), there)
            gates[name].until_reached()
            if name in ("stream", "model"):
                here.until(lambda here=here, cut=cut: here.texts.get(cut.run) == "a long")
        waiting = victim.post(cuts["stream"].session, "again")
        cuts["waiting"] = Cut(agents["stream"], cuts["stream"].session, waiting, cuts["stream"].watcher)
        victim.site.kill()
        for gate in gates.values():
            gate.open.set()
        yield cuts


def test_a_run_killed_between_two_func_calls_makes_only_the_second_one_in_its_next_process(
    survivor: Asker, stage: Stage, cuts: dict[str, Cut]
) -> None:
    cut = cuts["between"]
    assert survivor.story(cut.session) == [("query", "between"), *BOTH_FUNCS]
    assert stage.keys(cut.agent, "one") == [f"{cut.run}/1"]
    assert stage.keys(cut.agent, "two") == [f"{cut.run}/3"]


def test_a_run_killed_during_a_func_call_makes_that_call_again_with_the_same_key(
    survivor: Asker, stage: Stage, cuts: dict[str, Cut]
) -> None:
    cut = cuts["call"]
    assert survivor.story(cut.session) == [("query", "call"), *BOTH_FUNCS]
    assert stage.keys(cut.agent, "one") == [f"{cut.run}/1"]
    assert stage.keys(cut.agent, "two") == [f"{cut.run}/3"] * 2


def test_a_run_killed_while_it_waits_for_another_agent_finds_its_answer_in_its_next_process(
    survivor: Asker, stage: Stage, cuts: dict[str, Cut]
) -> None:
    cut = cuts["below"]
    story = survivor.story(cut.session)
    asked = story[1][1].removeprefix("Ask Agent[").partition("]")[0]
    assert story == [
        ("query", "below"),
        ("agent_call", f"Ask Agent[{asked}]: a story"),
        ("agent_output", f"Agent[{asked}] says: a long story"),
        ("response", "told"),
    ]
    assert stage.keys(asked) == [f"{uuid5(UUID(cut.run), '1')}/0"] * 2
    assert cut.watcher.until_ended(cut.run) == "completed"
    runs = Run.objects.using(ALIAS).filter(Q(pk=cut.run) | Q(root=cut.run)).order_by("query_seq")
    assert [run.status for run in runs] == ["completed"] * 2
    assert [run.epoch > 1 for run in runs] == [True] * 2


def test_a_run_killed_after_a_func_sent_back_an_embed_hands_it_on_in_its_next_process(
    survivor: Asker, stage: Stage, cuts: dict[str, Cut]
) -> None:
    cut = cuts["embed"]
    assert survivor.story(cut.session)[2:] == [
        ("func_output", "Func[one] says: #1"),
        ("func_call", "Ask Func[two]: #1"),
        ("func_output", "Func[two] says: two of #1"),
        ("response", "see #1"),
    ]
    assert stage.keys(cut.agent, "one") == [f"{cut.run}/1"]
    handed = [call.json["message"]["embeds"] for call in stage.calls(cut.agent, "two")]
    assert [contents(embeds) for embeds in handed[1:]] == [{"1": "a painting"}]
    assert contents(survivor.messages(cut.session)[-1]["embeds"]) == {"1": "a painting"}


def test_a_run_killed_while_its_agent_streams_is_answered_once_by_another_process(
    survivor: Asker, stage: Stage, cuts: dict[str, Cut]
) -> None:
    cut, waiting = cuts["stream"], cuts["waiting"]
    answers = [("response", "a long story")] * 2
    assert survivor.story(cut.session) == [("query", "stream"), ("query", "again"), *answers]
    assert stage.keys(cut.agent) == [f"{cut.run}/0", f"{cut.run}/0", f"{waiting.run}/0"]


def test_a_run_killed_while_the_model_streams_is_answered_once_by_another_process(
    survivor: Asker, stage: Stage, cuts: dict[str, Cut]
) -> None:
    cut = cuts["model"]
    steps = BOTH_FUNCS[:2]
    assert survivor.story(cut.session) == [("query", "model"), *steps, ("response", "a long story")]
    assert stage.keys(cut.agent, "one") == [f"{cut.run}/1"]


@pytest.mark.parametrize("name", ["between", "call", "embed", "stream", "model", "waiting"])
def test_a_client_of_another_process_sees_the_killed_run_to_its_end(
    survivor: Asker, cuts: dict[str, Cut], name: str
) -> None:
    cut = cuts[name]
    assert cut.watcher.until_ended(cut.run) == "completed"
    stored = survivor.story(cut.session)
    cut.watcher.until(lambda: len(cut.watcher.story) == len(stored))
    assert cut.watcher.story == stored


def test_a_process_that_sleeps_through_its_lease_writes_nothing_when_it_wakes(
    stage: Stage, survivor: Asker, other: Asker
) -> None:
    first, second = Gate(), Gate()
    agent = stage.query_agent(survivor.http, "a long", first, " yawn", again=("a long", second, " story"))
    asked = other.begin(agent, "tell")
    first.until_reached()
    with other.asleep():
        second.until_reached()
        first.open.set()
    # Awake, it finds an answer waiting; by the time it has answered somebody else it has dealt with that one.
    assert other.ask("fixie/echo", "awake?").json()["message"]["text"] == "awake?"
    wait_until(lambda: other.http.get("/readyz").status_code == 200, SOON)
    [run] = Run.objects.using(ALIAS).filter(agent__handle=agent.partition("/")[2]).select_related("session")
    assert survivor.messages(run.session.handle)[1:] == []
    second.open.set()
    assert survivor.story(run.session.handle) == [("query", "tell"), ("response", "a long story")]
    # Its client is told what the other process has answered.
    answer = asked.result(SOON)
    assert answer.status_code == 200, answer.text
    assert answer.json()["message"]["text"] == "a long story"


def test_a_waiting_run_that_nobody_started_is_started(survivor: Asker) -> None:
    session = abandoned_run("fixie/echo", status="queued", created=timezone.now() - timedelta(minutes=1))
    assert survivor.story(session.handle) == [("query", "hello?"), ("response", "hello?")]


def test_a_run_that_keeps_killing_its_process_is_given_up_with_a_readable_error(survivor: Asker) -> None:
    session = abandoned_run("fixie/echo", status="in_progress", epoch=50)
    [query, (kind, text)] = survivor.story(session.handle)
    assert query == ("query", "hello?")
    assert kind == "error"
    assert "given up" in text
    [run] = Run.objects.using(ALIAS).filter(session=session)
    assert (run.status, run.error_code) == ("failed", "internal")


@dataclass
class Crowd:
    """Clients who ask without a pause, each in a thread of its own, and what they were told."""

    answers: int = 0
    errors: list[httpx2.Response] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def ask(self, http: httpx2.Client, agent: str) -> None:
        while not self.over.is_set():
            answer = http.post(f"/api/agents/{agent}", json={"message": {"text": "hi"}}, timeout=SOON)
            if answer.status_code == 200 and answer.json()["message"]["text"]:
                self.answers += 1
            else:
                self.errors.append(answer)

    def until_answered(self, times: int) -> None:
        goal = self.answers + times
        wait_until(lambda: self.answers >= goal, SOON)


@pytest.fixture
def crowd(cluster: Cluster, stage: Stage, survivor: Asker, other: Asker) -> Iterator[Crowd]:
    """Eight clients in two processes."""
    crowd = Crowd()
    code_shot = stage.code_shot(survivor.http)
    with ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(8))
        sites = [survivor.site, other.site] * 4
        agents = ["fixie/echo"] * 4 + [code_shot] * 4
        clients = [stack.enter_context(site.client(cluster.crowd_key)) for site in sites]
        asking = [threads.submit(crowd.ask, http, agent) for http, agent in zip(clients, agents, strict=True)]
        yield crowd
        crowd.over.set()
        for one in asking:
            one.result(SOON)


def test_a_restart_of_the_database_under_load_loses_and_doubles_nothing(
    cluster: Cluster, survivor: Asker, other: Asker, crowd: Crowd
) -> None:
    crowd.until_answered(100)
    cluster.restart_database()
    crowd.until_answered(100)
    crowd.over.set()
    for answer in crowd.errors:
        assert error_of(answer)["retryable"], answer.text
    runs = Run.objects.using(ALIAS).filter(session__owner__username="crowd")
    wait_until(lambda: not runs.filter(status__in=("queued", "in_progress")).exists(), SOON)
    check_books(runs.count())
    for process, neighbour in ((survivor, other), (other, survivor)):
        wait_until(lambda process=process: process.http.get("/readyz").status_code == 200, SOON)
        session = abandoned_run("fixie/echo", status="queued", created=timezone.now() - timedelta(minutes=1))
        with neighbour.asleep():
            assert process.story(session.handle) == [("query", "hello?"), ("response", "hello?")]


def check_books(queries: int) -> None:
    """Each query of the crowd is charged once and answered once, and the messages' numbers have no gaps."""
    ends = Q(messages__kind__in=("response", "error"))
    sessions = Session.objects.using(ALIAS).filter(owner__username="crowd")
    for session in sessions.annotate(all=Count("messages"), ends=Count("messages", filter=ends)):
        seqs = session.messages.order_by("seq").values_list("seq", flat=True)
        assert list(seqs) == list(range(1, session.last_seq + 1))
        assert session.ends == 1
    assert sessions.count() == queries
    used = UsageDay.objects.using(ALIAS).filter(user__username="crowd")
    assert used.filter(agent=None).aggregate(n=Sum("queries"))["n"] == queries
    assert used.exclude(agent=None).aggregate(n=Sum("queries"))["n"] == queries
