"""Processes that die under tasks and streams: their clients find both in another process."""

from collections.abc import Iterator

import pytest

from tests.bridges.agentscope.reading import Answer, events_of, request, some_events
from tests.sessions_app.cluster import SOON, Asker, Cluster
from tests.sessions_app.gates import Gate, Stage
from tests.sessions_app.people import Json, wait_until


@pytest.fixture(scope="module")
def survivor(cluster: Cluster, stage: Stage) -> Iterator[Asker]:
    with cluster.process(LLM_BASE_URL=stage.model_url) as asker:
        yield asker


def test_tasks_and_streams_outlive_the_process_that_took_them(cluster: Cluster, stage: Stage, survivor: Asker) -> None:
    streaming, calling, other = Gate(), Gate(), Gate()
    agent = stage.query_agent(survivor.http, "a long", streaming, " story")
    another = stage.query_agent(survivor.http, "a long", other, " tale", again=("A SHORT", other, " story"))
    code_shot = stage.code_shot(survivor.http, one=calling)
    with cluster.process(LLM_BASE_URL=stage.model_url) as victim:
        read, rewritten = (_begin(victim, each) for each in (agent, another))
        task = victim.http.post(f"/agents/{code_shot}/process/task", json=request("call one")).json()["task_id"]
        calling.until_reached()
        victim.site.kill()
    for gate in (streaming, calling, other):
        gate.open.set()
    rest = _resume(survivor, read)
    assert (read + rest).checked().text == "a long story"
    assert [event["text"] for event in rest.events if event.get("delta")] == [" story"]
    assert (rewritten + _resume(survivor, rewritten)).checked().text == "A SHORT story"
    finished = wait_until(lambda: _finished(survivor, task), SOON)
    assert [each["type"] for each in finished["output"]] == ["function_call", "function_call_output", "message"]
    assert finished["output"][-1]["content"][0]["text"] == "done"
    assert len(stage.keys(code_shot, "one")) == 2


def _begin(victim: Asker, agent: str) -> Answer:
    with victim.http.stream("POST", f"/agents/{agent}/process", json=request("tell")) as stream:
        read = Answer.of(some_events(stream, 4))
    assert read.events[-1]["text"] == "a long"
    return read


def _resume(survivor: Asker, read: Answer) -> Answer:
    headers = {"Last-Event-ID": read.ids[-1]}
    answer = survivor.http.get(f"/process/{read.id}", headers=headers, timeout=SOON)
    return Answer.of(events_of(answer.text))


def _finished(survivor: Asker, task: str) -> Json | None:
    found = survivor.http.get(f"/process/task/{task}").json()
    assert found["status"] in ("running", "pending", "finished"), found
    return found["result"] and dict(found["result"])
