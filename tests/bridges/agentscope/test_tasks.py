"""Tasks: asked, and looked after later."""

import threading
from collections.abc import Callable

from tests.agents import Behaviour, answer
from tests.bridges.agentscope.reading import process, request, resumed
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sessions_app.streaming import held

Register = Callable[[Person, Behaviour], str]


def submit(person: Person, agent: str, body: Json) -> str:
    answer = person.http.post(f"/agents/{agent}/process/task", json=body)
    assert answer.status_code == 202, answer.text
    task = answer.json()
    assert task["status"] == "submitted"
    assert task["session_id"]
    return str(task["task_id"])


def look(person: Person, task: str) -> Json:
    answer = person.http.get(f"/process/task/{task}")
    assert answer.status_code == 200, answer.text
    assert answer.json()["task_id"] == task
    return dict(answer.json())


def ended(person: Person, task: str) -> Json:
    return dict(wait_until(lambda: (found := look(person, task))["status"] not in ("pending", "running") and found))


def test_a_task_runs_until_it_is_finished_and_has_its_response(
    asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    agent = agent_of(asker, held(gate))
    session = asker.new_session(agent)
    task = submit(asker, agent, request("go", session_id=session))
    waiting = submit(asker, agent, request("again", session_id=session))
    assert (look(asker, task)["status"], look(asker, waiting)["status"]) == ("running", "pending")
    assert look(asker, task)["result"] is None
    gate.set()
    result = ended(asker, task)["result"]
    assert (result["id"], result["status"], result["session_id"]) == (task, "completed", session)
    assert result["output"][0]["content"][0]["text"] == "On go: done"
    assert ended(asker, waiting)["status"] == "finished"
    assert resumed(asker, task).checked().response["output"] == result["output"]
    assert asker.http.get(f"/agents/{agent}/process/task/{task}").json()["status"] == "finished"


def test_a_task_that_fails_says_why(asker: Person, agent_of: Register) -> None:
    agent = agent_of(asker, answer({"message": {"text": "No dice."}}, status=500))
    found = ended(asker, submit(asker, agent, request("go")))
    assert (found["status"], found["result"]) == ("error", "No dice.")
    assert (found["response"]["status"], found["response"]["error"]["code"]) == ("failed", "agent_error")


def test_a_task_has_the_id_of_the_callers_choice_and_the_same_one_again_is_the_same(asker: Person) -> None:
    body = request("go", response_id="task-7")
    assert {submit(asker, "fixie/echo", body) for _ in range(3)} == {"task-7"}
    assert ended(asker, "task-7")["result"]["id"] == "task-7"
    assert len(asker.http.get("/api/sessions").json()["items"]) == 1
    assert process(asker, "fixie/echo", body).text == "go"


def test_what_cannot_be_asked_is_no_task(asker: Person) -> None:
    for agent, body, field in (("fixie/echo", request("go", n=3), "n"), ("fixie/nobody", request("go"), "agent")):
        refused = asker.http.post(f"/agents/{agent}/process/task", json=body)
        assert refused.status_code in (400, 404)
        assert error_of(refused)["details"]["field"] == field
    assert asker.http.get("/api/sessions").json()["items"] == []
