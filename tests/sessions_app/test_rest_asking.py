"""Asking over REST: answers, streams of them, queues, cancelling, quotas."""

import asyncio
import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

import httpx2
import pytest

from accounts.models import UsageDay, User
from common.db import run_db
from sessions_app.models import Run, Session
from tests.agents import Behaviour, ScriptedAgent, answer, raw
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sessions_app.streaming import held, lines
from tests.sites import Site

UNUSUAL = 'é e\u0301 👩‍👩‍👧‍👦 \U0001f3b2 עברית \u202e ﷽ \t \\ " \x7f \u2028 end'


@pytest.fixture
def slow(asker: Person, agent_of: Callable[[Person, Behaviour], str], gate: threading.Event) -> str:
    """The id of an agent that finishes its answers when the gate opens."""
    return agent_of(asker, held(gate))


def of_kind(messages: list[Json], kind: str) -> list[str]:
    return [message["text"] for message in messages if message["kind"] == kind]


def streamed(answer: httpx2.Response) -> list[Json]:
    assert answer.headers["content-type"] == "application/jsonl"
    return [json.loads(line) for line in answer.text.splitlines()]


def test_a_question_to_an_agent_is_answered_in_a_new_session_of_the_asker(asker: Person) -> None:
    answered = asker.ask("fixie/echo", "hello")
    assert answered.status_code == 200
    document = answered.json()
    assert set(document) == {"session", "run", "type", "message"}
    assert (document["type"], document["message"]) == ("response", {"text": "hello", "embeds": {}})
    assert UUID(document["run"]).version == 7
    session = asker.session(document["session"])
    assert (session["agent"], session["last_seq"], session["runs"]) == ("fixie/echo", 2, [])
    query, response = asker.messages(document["session"])
    assert (query["kind"], query["agent"], query["in_reply_to"]) == ("query", None, None)
    assert (response["kind"], response["agent"], response["in_reply_to"]) == ("response", "fixie/echo", 1)
    assert query["run"] == response["run"] == document["run"]


def test_a_question_with_a_session_continues_it(asker: Person) -> None:
    session = asker.ask("fixie/echo", "one").json()["session"]
    second = asker.ask("fixie/echo", "two", session=session).json()
    assert second["session"] == session
    assert [message["text"] for message in asker.messages(session)] == ["one", "one", "two", "two"]


def test_the_agent_in_the_address_answers_whatever_the_session_prefers(
    asker: Person, slow: str, gate: threading.Event
) -> None:
    gate.set()
    session = asker.new_session(slow)
    assert asker.ask("fixie/echo", f"@{slow} hi", session=session).json()["message"]["text"] == f"@{slow} hi"


def test_a_stream_is_json_lines_each_with_the_whole_text_so_far(
    asker: Person, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    texts = [UNUSUAL[:length] for length in range(1, len(UNUSUAL) + 1)]
    agent = agent_of(asker, lines(*texts, delay=0.01))
    answered = asker.ask(agent, "go", stream=True)
    documents = streamed(answered)
    assert len(documents) > 5
    said = [document["message"]["text"] for document in documents]
    assert all(later.startswith(earlier) and later != earlier for earlier, later in pairwise(said))
    assert said[-1] == UNUSUAL
    assert {document["type"] for document in documents} == {"response"}
    assert {(document["session"], document["run"]) for document in documents} == {
        (documents[0]["session"], documents[0]["run"])
    }
    assert of_kind(asker.messages(documents[0]["session"]), "response") == [UNUSUAL]


def test_an_agent_that_takes_its_words_back_is_streamed_as_it_means_it(
    asker: Person, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    agent = agent_of(asker, lines("I think it is five", "I think it", "It is six", "It is six.", delay=0.08))
    said = [document["message"]["text"] for document in streamed(asker.ask(agent, "go", stream=True))]
    assert said == ["I think it is five", "I think it", "It is six", "It is six."]


def test_text_travels_unchanged(asker: Person) -> None:
    document = asker.ask("fixie/echo", UNUSUAL).json()
    assert document["message"]["text"] == UNUSUAL
    assert [message["text"] for message in asker.messages(document["session"])] == [UNUSUAL, UNUSUAL]


def test_an_agent_that_fails_is_told_as_an_error_and_the_query_stays(
    asker: Person, agent_of: Callable[[Person, Behaviour], str]
) -> None:
    agent = agent_of(asker, answer({"message": {"text": "No dice today."}, "error": {"code": "x"}}, status=500))
    answered = asker.ask(agent, "roll")
    error = error_of(answered)
    assert (answered.status_code, error["code"], error["message"]) == (502, "agent_error", "No dice today.")
    messages = asker.messages(error["details"]["session"])
    assert [(message["kind"], message["text"]) for message in messages] == [
        ("query", "roll"),
        ("error", "No dice today."),
    ]
    (last,) = streamed(asker.ask(agent, "roll", stream=True))
    assert (last["type"], last["message"]["text"], last["error"]["code"]) == ("error", "No dice today.", "agent_error")


@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        (raw(b""), 502, "agent_unreachable"),
        (answer(body=b"<html>"), 502, "agent_invalid_response"),
        (answer({"message": {"text": 5}}), 502, "agent_invalid_response"),
        (answer(body=b"", status=503), 502, "agent_unreachable"),
    ],
)
def test_whatever_an_agent_does_the_next_question_works(
    asker: Person,
    agent_of: Callable[[Person, Behaviour], str],
    scripted: ScriptedAgent,
    behaviour: Behaviour,
    status: int,
    code: str,
) -> None:
    agent = agent_of(asker, behaviour)
    session = asker.new_session(agent)
    answered = asker.ask(agent, "one", session=session)
    assert (answered.status_code, error_of(answered)["code"]) == (status, code)
    scripted.on(f"/{agent.partition('/')[2]}", lines("fine"))
    assert asker.ask(agent, "two", session=session).json()["message"]["text"] == "fine"


def test_a_posted_query_is_accepted_at_once_and_answered_later(asker: Person, slow: str, gate: threading.Event) -> None:
    session = asker.new_session(slow)
    posted = asker.post(session, "one")
    assert set(posted) == {"session", "run", "seq", "status"}
    assert (posted["session"], posted["seq"], posted["status"]) == (session, 1, "in_progress")
    waiting = asker.post(session, "two")
    assert (waiting["seq"], waiting["status"]) == (2, "queued")
    assert asker.session(session)["runs"] == [posted["run"], waiting["run"]]
    gate.set()
    messages = asker.settled(session)
    assert of_kind(messages, "response") == ["On one: done", "On two: done"]
    assert [message["seq"] for message in messages] == [1, 2, 3, 4]
    assert [message["in_reply_to"] for message in messages] == [None, None, 1, 2]


def test_an_address_at_the_start_of_the_text_chooses_the_agent(asker: Person) -> None:
    session = asker.new_session(None)
    asker.post(session, "@fixie/echo, hi")
    messages = asker.settled(session)
    assert messages[1]["agent"] == "fixie/echo"
    unknown = asker.http.post(f"/api/sessions/{session}/messages", json={"text": "@fixie/nobody hi"})
    assert (unknown.status_code, error_of(unknown)["details"]["field"]) == (404, "agent")
    assert asker.session(session)["last_seq"] == 2


def test_reject_refuses_a_busy_session_and_changes_nothing(asker: Person, slow: str, gate: threading.Event) -> None:
    session = asker.new_session(slow)
    asker.post(session, "one", if_busy="reject")
    before = (asker.session(session), UsageDay.objects.get(user=asker.user, agent=None).queries)
    for refused in (
        asker.http.post(f"/api/sessions/{session}/messages", json={"text": "two", "if_busy": "reject"}),
        asker.ask(slow, "two", session=session, if_busy="reject"),
    ):
        error = error_of(refused)
        assert (refused.status_code, error["code"], error["retryable"]) == (409, "session_busy", True)
    assert (asker.session(session), UsageDay.objects.get(user=asker.user, agent=None).queries) == before
    gate.set()
    asker.settled(session)
    asker.post(session, "three", if_busy="reject")


def test_interrupt_stops_the_run_at_work_keeps_what_it_said_and_goes_on(
    asker: Person, slow: str, gate: threading.Event, scripted: ScriptedAgent
) -> None:
    scripted.left.clear()
    session = asker.new_session(slow)
    first = asker.post(session, "one")
    wait_until(lambda: scripted.requests and b'"one"' in scripted.requests[-1].body)
    second = asker.post(session, "two", if_busy="interrupt")
    wait_until(lambda: asker.session(session)["runs"] == [second["run"]])
    assert scripted.left.wait(5), "the call to the agent is still open"
    gate.set()
    messages = asker.settled(session)
    assert of_kind(messages, "response")[-1] == "On two: done"
    assert Run.objects.get(pk=first["run"]).status == "canceled"
    assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))


def test_who_waits_for_an_interrupted_answer_is_told(asker: Person, slow: str) -> None:
    session = asker.new_session(slow)
    answers: list[httpx2.Response] = []
    asking = threading.Thread(target=lambda: answers.append(asker.ask(slow, "one", session=session)))
    asking.start()
    wait_until(lambda: asker.session(session)["runs"])
    asker.ask("fixie/echo", "two", session=session, if_busy="interrupt")
    asking.join(10)
    assert (answers[0].status_code, error_of(answers[0])["code"]) == (409, "canceled")


def test_a_session_takes_no_more_waiting_queries_than_its_limit(asker: Person, slow: str) -> None:
    session = asker.new_session(slow)
    asker.post(session, "one")
    row = Session.objects.get(handle=session)
    Session.objects.filter(pk=row.pk).update(runs=[*row.runs, *[UUID(int=number) for number in range(99)]])
    refused = asker.http.post(f"/api/sessions/{session}/messages", json={"text": "too much"})
    assert (refused.status_code, error_of(refused)["details"]) == (409, {"waiting": 100})
    Session.objects.filter(pk=row.pk).update(runs=row.runs)


def test_the_same_client_id_posts_once(asker: Person, person: Callable[..., Person]) -> None:
    session, other = asker.new_session(), asker.new_session()
    first = asker.post(session, "hello", client_id="a\0b 🎲")
    asker.settled(session)
    again = asker.post(session, "hello", client_id="a\0b 🎲")
    assert (again["run"], again["seq"]) == (first["run"], first["seq"])
    assert again["status"] == "completed"
    assert len(asker.settled(session)) == 2
    assert UsageDay.objects.get(user=asker.user, agent=None).queries == 1
    assert asker.post(other, "hello", client_id="a\0b 🎲")["run"] != first["run"]
    stranger = person()
    assert stranger.post(stranger.new_session(), "hello", client_id="a\0b 🎲")["run"] != first["run"]


def test_the_same_client_id_posted_by_many_at_once_posts_once(asker: Person, slow: str) -> None:
    session = asker.new_session(slow)
    runs: list[Json] = []
    threads = [
        threading.Thread(target=lambda: runs.append(asker.post(session, "once", client_id="same"))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({run["run"] for run in runs}) == 1
    assert len(runs) == 8
    assert {run["status"] for run in runs} == {"in_progress"}
    assert len(asker.messages(session)) == 1


def test_a_run_at_work_can_be_stopped_and_what_it_said_is_kept(
    asker: Person, slow: str, scripted: ScriptedAgent
) -> None:
    scripted.left.clear()
    session = asker.new_session(slow)
    run = asker.post(session, "one")["run"]
    with asker.http.stream("GET", f"/api/sessions/{session}/events") as events:
        assert any("On one" in line for line in events.iter_lines())
        stopped = asker.http.post(f"/api/runs/{run}/cancel")
    runs = [{"run": run, "agent": slow, "acknowledged": True}]
    told = {"run": run, "session": session, "status": "in_progress", "runs": runs}
    assert (stopped.status_code, stopped.json()) == (202, told)
    messages = asker.settled(session)
    assert [(message["kind"], message["text"]) for message in messages] == [("query", "one"), ("response", "On one")]
    assert Run.objects.get(pk=run).status == "canceled"
    assert scripted.left.wait(5), "the call to the agent is still open"


def test_a_waiting_run_can_be_stopped_and_is_never_begun(
    asker: Person, slow: str, gate: threading.Event, scripted: ScriptedAgent
) -> None:
    session = asker.new_session(slow)
    asker.post(session, "one")
    second, third = asker.post(session, "never begun"), asker.post(session, "three")
    stopped = asker.http.post(f"/api/runs/{second['run']}/cancel").json()
    assert stopped["status"] == "queued"
    assert stopped["runs"] == [{"run": second["run"], "agent": slow, "acknowledged": True}]
    assert asker.http.post(f"/api/runs/{second['run']}/cancel").json()["status"] == "canceled"
    assert asker.session(session)["runs"][1:] == [third["run"]]
    gate.set()
    assert of_kind(asker.settled(session), "response") == ["On one: done", "On three: done"]
    assert not any(b"never begun" in request.body for request in scripted.requests)


def test_stopping_a_run_that_has_ended_changes_nothing(asker: Person) -> None:
    session = asker.new_session()
    run = asker.post(session, "one")["run"]
    before = asker.settled(session)
    for _ in range(2):
        told = asker.http.post(f"/api/runs/{run}/cancel").json()
        assert (told["status"], told["runs"]) == ("completed", [])
    assert asker.settled(session) == before
    assert Run.objects.get(pk=run).status == "completed"


def test_the_quota_is_told_with_its_numbers_and_the_time_of_its_end(person: Callable[..., Person]) -> None:
    poor = person(daily_query_limit=2)
    session = poor.new_session()
    poor.post(session, "one")
    poor.post(session, "two")
    for refused in (
        poor.ask("fixie/echo", "three"),
        poor.ask("fixie/echo", "three", stream=True),
        poor.http.post(f"/api/sessions/{session}/messages", json={"text": "three"}),
    ):
        error = error_of(refused)
        assert (refused.status_code, error["code"], error["retryable"]) == (429, "quota_exceeded", True)
        assert (error["details"]["used"], error["details"]["limit"]) == (2, 2)
        wait = int(refused.headers["Retry-After"])
        assert 0 < wait <= 86_400
        end = datetime.fromisoformat(error["details"]["resets_at"])
        assert abs((end - datetime.now(UTC)).total_seconds() - wait) < 5
    assert len(poor.settled(session)) == 4
    assert Session.objects.filter(owner=poor.user).count() == 1


async def test_two_hundred_parallel_questions_against_a_limit_of_50_are_answered_exactly_50_times(
    site: Site, echo: str, make_user: Callable[..., User], api_key: Callable[..., str]
) -> None:
    user = await run_db(make_user, daily_query_limit=50)
    key = await run_db(api_key, user)
    async with httpx2.AsyncClient(
        base_url=site.url,
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
        verify=False,
        limits=httpx2.Limits(max_connections=200),
    ) as http:
        question = {"message": {"text": "hi"}}
        answers = await asyncio.gather(*(http.post(f"/api/agents/{echo}", json=question) for _ in range(200)))
    statuses = [answered.status_code for answered in answers]
    assert (statuses.count(200), statuses.count(429)) == (50, 150)
    refused = [answered for answered in answers if answered.status_code == 429]
    assert all(error_of(answered)["details"]["limit"] == 50 for answered in refused)
    assert (await run_db(UsageDay.objects.get, user=user, agent=None)).queries == 50
    assert await run_db(Session.objects.filter(owner=user).count) == 50


def test_the_agent_that_is_named_at_the_start_gets_the_question_without_its_name(asker: Person) -> None:
    session = asker.new_session(None)
    asker.post(session, "@fixie/echo: what is up? @fixie/echo")
    stories = [(message["kind"], message["text"]) for message in asker.settled(session)]
    assert stories == [
        ("query", "@fixie/echo: what is up? @fixie/echo"),
        ("response", "what is up? @fixie/echo"),
    ]


def test_a_name_without_a_question_is_refused(asker: Person) -> None:
    session = asker.new_session()
    answer = asker.http.post(f"/api/sessions/{session}/messages", json={"text": " @fixie/echo "})
    assert answer.status_code == 400
    assert error_of(answer)["details"]["field"] == "text"
    assert asker.messages(session) == []
