"""The pages of sessions: what they show, to whom, and what they cost."""

import json
import re
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from common.ids import uuid7

if TYPE_CHECKING:
    from accounts.models import User
    from sessions_app.models import Session

MakeUser = Callable[..., "User"]


@pytest.fixture
def user(make_user: MakeUser) -> "User":
    return make_user()


@pytest.fixture
def browser(user: "User") -> Client:
    return signed_in(user)


def signed_in(user: "User") -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def conversation(user: "User", messages: int = 0, text: str = "Hello", **fields: Any) -> "Session":
    """A session of `user`'s with so many messages: queries and their responses in turn."""
    from sessions_app.models import Message, Run, Session

    handle = f"s-{uuid.uuid4().hex[:16]}"
    session = Session.objects.create(handle=handle, owner=user, last_seq=messages, **fields)
    ids = [uuid7() for _ in range((messages + 1) // 2)]
    Run.objects.bulk_create(
        Run(id=run, session=session, query_seq=place * 2 + 1, status="completed") for place, run in enumerate(ids)
    )
    Message.objects.bulk_create(
        Message(
            session=session,
            seq=seq,
            run_id=ids[(seq - 1) // 2],
            kind="query" if seq % 2 else "response",
            text=f"{text} {seq}",
            in_reply_to=None if seq % 2 else seq - 1,
        )
        for seq in range(1, messages + 1)
    )
    return session


OLDER = """
INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text)
SELECT %s, number, %s, 'thought', 'Long ago' FROM generate_series(1, %s) AS number"""


def long_conversation(user: "User", messages: int) -> "Session":
    """The same with a past that is too long to be made one by one."""
    from sessions_app.models import Message, Run

    session = conversation(user, 200)
    past = messages - 200
    Message.objects.filter(session=session).update(seq=F("seq") + 1_000_000)
    Message.objects.filter(session=session).update(seq=F("seq") - 1_000_000 + past)
    session.last_seq = messages
    session.save()
    run = Run.objects.filter(session=session).order_by("query_seq").first()
    assert run
    with connection.cursor() as cursor:
        cursor.execute(OLDER, [session.pk, run.pk, past])
    return session


def data_of(page: bytes) -> dict[str, Any]:
    found = re.search(r'<script id="session-data" type="application/json">(.*?)</script>', page.decode(), re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def test_a_visitor_is_told_what_this_is_and_how_to_come_in() -> None:
    page = Client().get("/").content.decode()
    assert "/accounts/signup/" in page
    assert "/accounts/login/" in page
    assert "Your sessions" not in page


def listed(page: bytes) -> list[str]:
    """The titles in the list at the side."""
    found = re.findall(r'<li><a href="/sessions/[^"]+" dir="auto"[^>]*>([^<]*)</a></li>', page.decode())
    return [str(title) for title in found]


def test_the_list_shows_sessions_newest_first_and_the_way_to_older_ones(user: "User", browser: Client) -> None:
    for number in range(43):
        conversation(user, name=f"Number {number}")
    first = browser.get("/").content
    assert listed(first) == [f"Number {n}" for n in range(42, 2, -1)]
    older = re.search(r'href="/(\?after=[\d.]+)"', first.decode())
    assert older
    last = browser.get(f"/{older[1]}").content
    assert listed(last) == ["Number 2", "Number 1", "Number 0"]
    assert 'href="/?after=' not in last.decode()


@pytest.mark.parametrize("after", ["nothing-like-this", "%00", "x" * 5000, "'\"<b>"])
def test_an_unknown_place_in_the_list_is_its_beginning(user: "User", browser: Client, after: str) -> None:
    conversation(user, name="Only one")
    assert listed(browser.get(f"/?after={after}").content) == ["Only one"]


def test_the_list_shows_nobody_elses_sessions(user: "User", browser: Client, make_user: MakeUser) -> None:
    conversation(user, name="Mine")
    conversation(make_user(), name="Theirs")
    assert listed(browser.get("/").content) == ["Mine"]


def test_a_session_is_listed_by_its_name_else_its_first_query_else_its_handle(user: "User", browser: Client) -> None:
    conversation(user, 2, name="Named")
    conversation(user, 2, text="<i>first</i>\n  words")
    conversation(user, 2, title="Entitled")
    bare = conversation(user)
    page = browser.get("/").content
    assert listed(page) == [bare.handle, "Entitled", "&lt;i&gt;first&lt;/i&gt; words 1", "Named"]


def test_the_list_costs_the_same_number_of_queries_however_long(user: "User", browser: Client) -> None:
    conversation(user, 2)
    with CaptureQueriesContext(connection) as few:
        browser.get("/")
    for _ in range(20):
        conversation(user, 2)
    with CaptureQueriesContext(connection) as many:
        browser.get("/")
    assert len(many) == len(few) <= 10


def test_a_session_page_holds_the_last_messages_and_their_runs(user: "User", browser: Client) -> None:
    session = conversation(user, 500)
    data = data_of(browser.get(f"/sessions/{session.handle}").content)
    assert [message["seq"] for message in data["messages"]] == list(range(451, 501))
    assert data["last_seq"] == 500
    assert {run["run"] for run in data["runs"]} == {message["run"] for message in data["messages"]}
    assert {run["status"] for run in data["runs"]} == {"completed"}


def test_a_session_page_stays_small_where_messages_are_large(user: "User", browser: Client) -> None:
    session = conversation(user, 60, text="x" * 60_000)
    data = data_of(browser.get(f"/sessions/{session.handle}").content)
    assert [message["seq"] for message in data["messages"]] == list(range(45, 61))
    huge = conversation(user, 1, text="x" * 1_200_000)
    assert len(data_of(browser.get(f"/sessions/{huge.handle}").content)["messages"]) == 1


def test_an_empty_session_has_an_empty_page(user: "User", browser: Client) -> None:
    data = data_of(browser.get(f"/sessions/{conversation(user).handle}").content)
    assert (data["messages"], data["runs"], data["last_seq"]) == ([], [], 0)


def test_what_is_in_a_message_cannot_leave_the_data_it_is_in(user: "User", browser: Client) -> None:
    text = "</script><script>alert(1)</script><!--\u2028"
    session = conversation(user, 2, text=text)
    page = browser.get(f"/sessions/{session.handle}")
    assert b"<script>alert" not in page.content
    assert data_of(page.content)["messages"][0]["text"] == f"{text} 1"


def test_ten_thousand_messages_open_as_fast_as_fifty(user: "User", browser: Client) -> None:
    short, long = conversation(user, 200), long_conversation(user, 10_000)
    for session in (short, long):
        browser.get(f"/sessions/{session.handle}")

    def fastest(session: "Session") -> float:
        times = []
        for _ in range(7):
            started = time.perf_counter()
            browser.get(f"/sessions/{session.handle}")
            times.append(time.perf_counter() - started)
        return min(times)

    assert fastest(long) < 1.5 * fastest(short)


@pytest.mark.parametrize("page", ["", "/delete"])
def test_somebody_elses_session_and_a_missing_one_look_the_same(
    browser: Client, make_user: MakeUser, page: str
) -> None:
    theirs = conversation(make_user())
    pages = [browser.get(f"/sessions/{handle}{page}") for handle in (theirs.handle, "no-such-session")]
    assert [answer.status_code for answer in pages] == [404, 404]
    bodies = [re.sub(r'value="[^"]+"', "", answer.content.decode()) for answer in pages]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("page", ["", "/delete"])
def test_who_is_signed_out_is_sent_to_sign_in_and_back(user: "User", page: str) -> None:
    path = f"/sessions/{conversation(user).handle}{page}"
    answer = Client().get(path)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/accounts/login/?next={path}")


def test_deleting_needs_a_post_and_removes_only_that_session(
    user: "User", browser: Client, make_user: MakeUser
) -> None:
    from sessions_app.models import Session

    session, other = conversation(user, 4), conversation(user, 4)
    assert browser.get(f"/sessions/{session.handle}/delete").status_code == 200
    assert signed_in(make_user()).post(f"/sessions/{session.handle}/delete").status_code == 404
    assert Session.objects.filter(owner=user).count() == 2
    assert browser.post(f"/sessions/{session.handle}/delete").headers["Location"] == "/"
    assert list(Session.objects.visible_to(user)) == [other]
    assert browser.post(f"/sessions/{session.handle}/delete").headers["Location"] == "/"


def test_a_session_without_a_question_is_begun_empty(user: "User", browser: Client, echo: str) -> None:
    from sessions_app.models import Session

    answer = browser.post("/sessions/new", {"agent": echo, "text": "  "})
    session = Session.objects.select_related("agent__owner").get(owner=user)
    assert answer.headers["Location"] == f"/sessions/{session.handle}"
    assert (session.agent and session.agent.agent_id, session.last_seq) == (echo, 0)


@pytest.mark.parametrize(
    ("agent", "text", "problem"),
    [
        ("fixie/nobody", "Hi", "There is no such agent"),
        ("odd name", "Hi", "An agent is named owner/handle"),
        ("fixie/echo", "x" * 70_000, "65,536 are allowed"),
        ("fixie/echo", "a\x00b", "Null characters are not allowed"),
    ],
)
def test_what_cannot_be_begun_leaves_no_session_and_says_why(
    user: "User", browser: Client, echo: str, agent: str, text: str, problem: str
) -> None:
    from sessions_app.models import Session

    answer = browser.post("/sessions/new", {"agent": agent, "text": text})
    assert answer.status_code in (400, 413)
    assert problem in answer.content.decode()
    assert not Session.objects.filter(owner=user).exists()


def test_a_reload_of_the_form_page_goes_home(browser: Client) -> None:
    assert browser.get("/sessions/new").headers["Location"] == "/"
