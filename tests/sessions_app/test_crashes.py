"""Processes and databases that die in the middle of runs: nothing is lost, and nothing happens twice."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agents import ScriptedAgent
from tests.sessions_app.cluster import Asker, Cluster, Watcher
from tests.sessions_app.gates import Gate, Stage

pytestmark = pytest.mark.usefixtures("database")

@pytest.fixture(scope="session")
def cluster(database):
    with tempfile.TemporaryDirectory(prefix="fixie-cluster-") as directory:
        Path(directory).chmod(0o755)
        cluster = Cluster(Path(directory) / "postgres")
        yield cluster
        cluster.close()

@pytest.fixture(scope="session")
def stage():
    with ScriptedAgent() as server:
        yield Stage(server)


@pytest.fixture(scope="module")
def survivor(cluster: Cluster, stage: Stage) -> Iterator[Asker]:
    """The process that is left when the others die."""
    with cluster.process(LLM_BASE_URL=stage.model_url) as asker:
        yield asker

@dataclass(frozen=True)
class Cut:
    """A run that was cut off when its process was killed, and what a follower in another process saw of it."""

    agent: str
    session: str
    run: str
    watcher: Watcher


@pytest.fixture(scope="module")
def cuts(cluster: Cluster, stage: Stage, survivor: Asker) -> Iterator[dict[str, Cut]]:
    """Runs at four places of their lives, whose process is then killed."""
    gates = {name: Gate() for name in ("between", "call", "stream", "model")}
    ask_one, ask_two = ("Ask Func[one]: x",), ("Ask Func[two]: y",)
    stage.model_writes("between", ask_one, (gates["between"], *ask_two), ("A: both",))
    stage.model_writes("call", ask_one, ask_two, ("A: both",))
    stage.model_writes("model", ask_one, ("A: a long ", gates["model"], "story"))
    http = survivor.http
    agents = {
        "between": stage.code_shot(http),
        "call": stage.code_shot(http, two=gates["call"]),
        "stream": stage.query_agent(http, "a long ", gates["stream"], "story"),
        "model": stage.code_shot(http),
    }
    with ExitStack() as stack, cluster.process(LLM_BASE_URL=stage.model_url) as victim:
        cuts = {}
        for name, agent in agents.items():
            session = victim.new_session(agent)
            here = stack.enter_context(victim.following(session))
            there = stack.enter_context(survivor.following(session))
            run = victim.post(session, name)
            cuts[name] = Cut(agent, session, run, there)
            gates[name].until_reached()
            if name in ("stream", "model"):
                here.until(lambda here=here, run=run: here.texts.get(run) == "a long ")
        waiting = victim.post(cuts["stream"].session, "again")
        cuts["waiting"] = Cut(agents["stream"], cuts["stream"].session, waiting, cuts["stream"].watcher)
        victim.site.kill()
        for gate in gates.values():
            gate.open.set()
        yield cuts

def test_a_run_killed_between_two_func_calls_is_finished_by_another_process(survivor, stage, cuts):
    cut = cuts["between"]
    assert survivor.story(cut.session) == [
        ("query", "between"),
        ("func_call", "Ask Func[one]: x"),
        ("func_output", "Func[one] says: one of x"),
        ("func_call", "Ask Func[two]: y"),
        ("func_output", "Func[two] says: two of y"),
        ("response", "both"),
    ]
    assert stage.keys(cut.agent, "one") == [f"{cut.run}/1"]
    assert stage.keys(cut.agent, "two") == [f"{cut.run}/3"]
