"""Sessions over REST: make, list, read, page through, delete."""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext

from accounts.auth import Caller
from sessions_app import api
from sessions_app.models import Message, Run, Session
from sessions_app.schemas import MessagePage, SessionPage
from tests.agents import ScriptedAgent
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sessions_app.rows import fill
from tests.sessions_app.streaming import held

SESSION_FIELDS = {"handle", "name", "description", "agent", "last_seq", "created", "runs"}
GONE = "This query is gone. Please ask again."
MESSAGE_FIELDS = {"seq", "kind", "text", "run", "agent", "in_reply_to", "created", "embeds"}


def seqs(messages: list[Json]) -> list[int]:
    return [message["seq"] for message in messages]


def test_a_new_session_has_a_handle_of_three_words_and_nothing_in_it(asker: Person) -> None:
    answer = asker.http.post("/api/sessions", json={})
    assert answer.status_code == 201
    session = answer.json()
    assert set(session) == SESSION_FIELDS
    assert session["handle"].count("-") >= 2
    assert (session["name"], session["description"], session["agent"]) == ("", "", None)
    assert (session["last_seq"], session["runs"]) == (0, [])
    assert datetime.fromisoformat(session["created"]).tzinfo is not None
    assert asker.session(session["handle"]) == session
    assert asker.messages(session["handle"]) == []


def test_a_session_keeps_its_front_agent_name_and_description(asker: Person) -> None:
    fields = {"agent": "fixie/echo", "name": "Über 🎲", "description": "line one\nline two"}
    session = asker.http.post("/api/sessions", json=fields).json()
    assert {name: session[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"agent": "fixie/no-such-agent"}, 404, "agent"),
        ({"agent": "nobody-at-all/echo"}, 404, "agent"),
        ({"agent": "echo"}, 400, "agent"),
        ({"agent": ""}, 201, None),
        ({"agent": "fixie/echo/more"}, 400, "agent"),
        ({"agent": "fixie/ec\0ho"}, 400, "agent"),
        ({"agent": "../../etc"}, 400, "agent"),
        ({"agent": "a" * 200}, 400, "agent"),
        ({"agent": 5}, 400, "agent"),
        ({"name": "n" * 200}, 201, None),
        ({"name": "n" * 201}, 400, "name"),
        ({"name": "nul\0"}, 400, "name"),
        ({"name": None}, 400, "name"),
        ({"description": "d" * 10_000}, 201, None),
        ({"description": "d" * 10_001}, 400, "description"),
        ({"description": "nul\0"}, 400, "description"),
        ({"description": ["list"]}, 400, "description"),
        ({"unknown": "field", "handle": "mine"}, 201, None),
    ],
)
def test_the_fields_of_a_new_session_are_checked(asker: Person, fields: Json, status: int, field: str | None) -> None:
    answer = asker.http.post("/api/sessions", json=fields)
    assert answer.status_code == status, answer.text
    if field is not None:
        assert error_of(answer)["details"]["field"] == field
        assert not Session.objects.filter(owner=asker.user).exists()


def test_a_private_agent_of_somebody_else_cannot_be_a_front_agent(
    asker: Person, person: Callable[..., Person], agent_of: Callable[..., str]
) -> None:
    private = agent_of(person(), held(threading.Event()))
    answer = asker.http.post("/api/sessions", json={"agent": private})
    assert answer.status_code == 404
    assert error_of(answer)["code"] == "not_found"


def test_the_list_holds_ones_own_sessions_newest_first_page_by_page(
    asker: Person, person: Callable[..., Person]
) -> None:
    person().new_session()
    made = [asker.new_session() for _ in range(7)]
    # Sessions of one moment: the order and the pages must not depend on luck.
    Session.objects.filter(handle__in=made[2:5]).update(created=Session.objects.get(handle=made[3]).created)
    listed: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = asker.http.get("/api/sessions", params=query).json()
        assert 1 <= len(page["items"]) <= 2
        assert all(set(session) == SESSION_FIELDS for session in page["items"])
        listed += [session["handle"] for session in page["items"]]
        if page["next"] is None:
            break
        query["after"] = page["next"]
    assert listed == made[::-1]


@pytest.mark.parametrize("after", ["no-such-session", "nul\0", "é", "'; --", " "])
def test_a_place_that_no_page_gave_is_refused(asker: Person, after: str) -> None:
    asker.new_session()
    answer = asker.http.get("/api/sessions", params={"after": after})
    assert answer.status_code == 404, answer.text
    assert error_of(answer)["details"]["field"] == "after"


def test_a_session_of_somebody_else_is_no_place_in_ones_own_list(asker: Person, person: Callable[..., Person]) -> None:
    answer = asker.http.get("/api/sessions", params={"after": person().new_session()})
    assert answer.status_code == 404


@pytest.mark.parametrize("limit", [0, -1, 201, 10**30, "x", "", "1.5"])
def test_a_limit_out_of_range_is_refused(asker: Person, limit: object) -> None:
    for address in ("/api/sessions", f"/api/sessions/{asker.new_session()}/messages"):
        limit = 501 if limit == 201 else limit
        answer = asker.http.get(address, params={"limit": str(limit)})
        assert answer.status_code == 400, address
        assert error_of(answer)["details"]["field"] == "limit"


def test_listing_sessions_takes_two_queries_however_many_there_are(asker: Person) -> None:
    request: Any = HttpRequest()
    request.auth = Caller(user_id=asker.user.pk, jti=None)
    for expected in (1, 6):
        while Session.objects.filter(owner=asker.user).count() < expected:
            asker.new_session()
        with CaptureQueriesContext(connection) as queries:
            assert len(api.list_sessions(request, SessionPage()).items) == expected
        assert len(queries) == 2


def test_reading_messages_takes_four_queries_however_many_there_are(asker: Person) -> None:
    request: Any = HttpRequest()
    request.auth = Caller(user_id=asker.user.pk, jti=None)
    for count in (1, 40):
        session = asker.new_session()
        fill(session, count)
        with CaptureQueriesContext(connection) as queries:
            assert len(api.messages(request, session, MessagePage()).items) == count
        assert len(queries) == 4


def test_messages_are_read_forwards_from_a_number(asker: Person) -> None:
    session = asker.new_session()
    fill(session, 12)
    assert seqs(asker.messages(session)) == list(range(1, 13))
    assert seqs(asker.messages(session, since=9)) == [10, 11, 12]
    assert seqs(asker.messages(session, since=3, limit=2)) == [4, 5]
    assert set(asker.messages(session)[0]) == MESSAGE_FIELDS


def test_messages_are_read_backwards_from_a_number(asker: Person) -> None:
    session = asker.new_session()
    fill(session, 12)
    assert seqs(asker.messages(session, before=13, limit=5)) == [8, 9, 10, 11, 12]
    assert seqs(asker.messages(session, before=8, limit=5)) == [3, 4, 5, 6, 7]
    assert seqs(asker.messages(session, before=3, limit=5)) == [1, 2]
    assert asker.messages(session, before=1) == []
    assert seqs(asker.messages(session, before=8, since=5)) == [6, 7]


@pytest.mark.parametrize("since", [12, 13, 1000, 2**31 - 1])
def test_beyond_the_end_there_is_nothing_and_that_is_no_error(asker: Person, since: int) -> None:
    session = asker.new_session()
    fill(session, 12)
    answer = asker.http.get(f"/api/sessions/{session}/messages", params={"since": since})
    assert answer.json() == {"items": [], "runs": [], "last_seq": 12}


@pytest.mark.parametrize(
    ("name", "value"),
    [("since", -1), ("since", 2**31), ("since", "x"), ("since", 10**30), ("before", 0), ("before", 2**31)],
)
def test_numbers_out_of_range_are_refused_by_name(asker: Person, name: str, value: object) -> None:
    answer = asker.http.get(f"/api/sessions/{asker.new_session()}/messages", params={name: str(value)})
    assert answer.status_code == 400
    error = error_of(answer)
    assert (error["code"], error["details"]["field"]) == ("invalid_request", name)


def test_thousands_of_messages_are_paged_without_a_gap_in_both_directions(asker: Person) -> None:
    session = asker.new_session()
    fill(session, 3000)
    forwards: list[int] = []
    while page := asker.messages(session, since=forwards[-1] if forwards else 0, limit=500):
        forwards += seqs(page)
    backwards: list[int] = []
    while page := asker.messages(session, before=backwards[0] if backwards else 3001, limit=500):
        backwards = seqs(page) + backwards
    assert forwards == backwards == list(range(1, 3001))


def test_a_deleted_session_is_gone_with_all_it_held(asker: Person) -> None:
    session = asker.new_session()
    run = asker.post(session, "hello")["run"]
    asker.settled(session)
    answer = asker.http.delete(f"/api/sessions/{session}")
    assert (answer.status_code, answer.content) == (204, b"")
    for method, path in (
        ("GET", f"/api/sessions/{session}"),
        ("GET", f"/api/sessions/{session}/messages"),
        ("GET", f"/api/sessions/{session}/events"),
        ("DELETE", f"/api/sessions/{session}"),
        ("POST", f"/api/runs/{run}/cancel"),
    ):
        assert asker.http.request(method, path).status_code == 404, path
    assert asker.http.post(f"/api/sessions/{session}/messages", json={"text": "more"}).status_code == 404
    assert not Message.objects.filter(run=run).exists()
    assert not Run.objects.filter(pk=run).exists()


def test_deleting_a_session_in_the_middle_of_a_run_closes_the_call_and_ends_the_answer(
    asker: Person, agent_of: Callable[..., str], scripted: ScriptedAgent
) -> None:
    scripted.left.clear()
    agent = agent_of(asker, held(threading.Event()))
    session = asker.new_session(agent)
    asker.post(session, "first")
    asker.post(session, "second")
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(asker.ask(agent, "third", session=session)))
    asking.start()
    wait_until(lambda: len(asker.session(session)["runs"]) == 3)
    assert asker.http.delete(f"/api/sessions/{session}").status_code == 204
    assert scripted.left.wait(5), "the call to the agent is still open"
    asking.join(10)
    assert not asking.is_alive(), "who asked still waits"
    assert (answers[0].status_code, error_of(answers[0])["message"]) == (503, GONE)


def test_deleting_the_session_of_a_direct_question_ends_its_stream(asker: Person, agent_of: Callable[..., str]) -> None:
    agent = agent_of(asker, held(threading.Event()))
    question = {"message": {"text": "hi"}, "stream": True}
    with asker.http.stream("POST", f"/api/agents/{agent}", json=question) as answer:
        lines = answer.iter_lines()
        assert '"On hi"' in next(lines)
        (session,) = asker.http.get("/api/sessions").json()["items"]
        assert asker.http.delete(f"/api/sessions/{session['handle']}").status_code == 204
        assert GONE in list(lines)[-1]


def test_sessions_deleted_while_they_are_written_to_are_deleted_all_the_same(asker: Person) -> None:
    for _ in range(8):
        session = asker.new_session()
        address = f"/api/sessions/{session}"
        statuses: set[int] = set()

        def post(address: str = address, statuses: set[int] = statuses) -> None:
            for _ in range(6):
                statuses.add(asker.http.post(f"{address}/messages", json={"text": "hi"}).status_code)

        posting = [threading.Thread(target=post) for _ in range(3)]
        for thread in posting:
            thread.start()
        deleted = asker.http.delete(address).status_code
        for thread in posting:
            thread.join()
        assert deleted == 204
        assert statuses <= {202, 404}
        assert not Session.objects.filter(handle=session).exists()


def test_messages_come_with_the_runs_they_belong_to(asker: Person) -> None:
    session = asker.new_session()
    run = asker.post(session, "hello")["run"]
    asker.settled(session)
    page = asker.http.get(f"/api/sessions/{session}/messages").json()
    state = {"run": run, "status": "completed", "query": 1, "agent": "fixie/echo", "parent": None, "error": None}
    assert [each | state for each in page["runs"]] == page["runs"]
    assert page["runs"][0]["started"] <= page["runs"][0]["finished"]
