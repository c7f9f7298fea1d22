"""The list of one's sessions: its order, its pages, and what can be changed in it."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone as now_here

from accounts.models import Membership, Organization, Owner
from sessions_app import actions
from sessions_app.models import Message, Run, Session
from sessions_app.sidebar.listing import Listed, by_days
from tests.agents import Behaviour
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sessions_app.sockets import socket_to
from tests.sessions_app.streaming import held
from tests.sites import Site


def listing(person: Person, **query: Any) -> Json:
    answer = person.http.get("/api/sessions/recent", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def handles(rows: list[Json]) -> list[str]:
    return [row["handle"] for row in rows]


def change(person: Person, session: str, **changes: Any) -> Json:
    answer = person.http.patch(f"/api/sessions/{session}", json=changes)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def delete(person: Person, session: str) -> None:
    assert person.http.post(f"/api/sessions/{session}/delete").status_code == 204


@pytest.fixture
def browser(asker: Person) -> Client:
    client = Client()
    client.force_login(asker.user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def test_sessions_come_in_the_order_in_which_they_were_last_asked(asker: Person) -> None:
    first, second = asker.new_session(), asker.new_session()
    asker.post(first, "Please roll *two* dice")
    asker.settled(first)
    rows = listing(asker)["items"]
    assert handles(rows) == [first, second]
    assert (rows[0]["title"], rows[0]["busy"], rows[0]["agent"]) == ("Roll two dice", False, "fixie/echo")
    assert rows[1]["title"] == second


def test_pages_go_on_where_the_one_before_ended_even_if_that_session_was_asked_meanwhile(asker: Person) -> None:
    made = [asker.new_session() for _ in range(5)]
    page = listing(asker, limit=2)
    assert handles(page["items"]) == made[:2:-1]
    asker.post(made[3], "hello")
    page = listing(asker, limit=2, after=page["next"])
    assert handles(page["items"]) == [made[2], made[1]]
    page = listing(asker, limit=2, after=page["next"])
    assert (handles(page["items"]), page["next"]) == ([made[0]], None)


@pytest.mark.parametrize("after", ["", "nonsense", "1", "1.2.3", "-1.5", "9" * 40, "\0"])
def test_a_place_that_is_none_is_refused(asker: Person, after: str) -> None:
    answer = asker.http.get("/api/sessions/recent", params={"after": after})
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (400, "after")


def test_pinned_sessions_stand_apart_and_archived_ones_elsewhere(asker: Person) -> None:
    plain, pinned, archived = (asker.new_session() for _ in range(3))
    change(asker, pinned, pinned=True)
    change(asker, archived, archived=True, pinned=True)
    page = listing(asker)
    assert (handles(page["pinned"]), handles(page["items"])) == ([pinned], [plain])
    page = listing(asker, archived=True)
    assert (page["pinned"], handles(page["items"])) == ([], [archived])
    change(asker, archived, archived=False)
    assert set(handles(listing(asker)["pinned"])) == {pinned, archived}


def test_a_name_is_put_on_one_line_and_an_empty_one_takes_it_back(asker: Person, session: str) -> None:
    asker.post(session, "hello there")
    assert change(asker, session, name="  My\n dice ")["title"] == "My dice"
    assert asker.session(session)["name"] == "My dice"
    assert change(asker, session, name="")["title"] == "Hello there"
    assert change(asker, session)["title"] == "Hello there"


@pytest.mark.parametrize("name", ["x" * 201, "a\0b"])
def test_a_name_that_cannot_be_is_refused(asker: Person, session: str, name: str) -> None:
    answer = asker.http.patch(f"/api/sessions/{session}", json={"name": name, "pinned": True})
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (400, "name")
    assert not Session.objects.get(handle=session).pinned


async def test_who_follows_a_session_is_told_its_new_name(site: Site, asker: Person, session: str) -> None:
    async with socket_to(site, session, asker.key) as socket:
        assert (await socket.frame())["type"] == "synced"
        change(asker, session, name="Dice")
        told = {"type": "session", "session": session, "title": "Dice", "deleted": False}
        assert await socket.frame() == told


def test_a_session_in_which_something_is_answered_is_busy_until_it_is_deleted(
    asker: Person, agent_of: Callable[[Person, Behaviour], str], gate: threading.Event
) -> None:
    session = asker.new_session(agent_of(asker, held(gate)))
    run = asker.post(session, "wait")["run"]
    waiting = asker.post(session, "then this")["run"]
    assert listing(asker)["items"][0]["busy"]
    delete(asker, session)
    wait_until(lambda: not Run.objects.filter(pk__in=[run, waiting], status__in=("queued", "in_progress")).exists())
    assert set(Run.objects.filter(pk__in=[run, waiting]).values_list("status", flat=True)) == {"canceled"}


def test_a_deleted_session_is_nowhere_until_it_is_restored(asker: Person, session: str) -> None:
    asker.post(session, "hello")
    asker.settled(session)
    run = str(Run.objects.get(session__handle=session).pk)
    delete(asker, session)
    asking = {"session": session, "message": {"text": "again"}}
    document = {"query": f'{{ sessionByHandle(handle: "{session}") {{ handle }} }}'}
    answers = {
        "read": asker.http.get(f"/api/sessions/{session}"),
        "messages": asker.http.get(f"/api/sessions/{session}/messages"),
        "embeds": asker.http.get(f"/api/sessions/{session}/embeds"),
        "events": asker.http.get(f"/api/sessions/{session}/events"),
        "post": asker.http.post(f"/api/sessions/{session}/messages", json={"text": "again"}),
        "rename": asker.http.patch(f"/api/sessions/{session}", json={"name": "x"}),
        "delete": asker.http.post(f"/api/sessions/{session}/delete"),
        "delete for good": asker.http.delete(f"/api/sessions/{session}"),
        "ask": asker.http.post("/api/agents/fixie/echo", json=asking),
        "ask again": asker.http.post(f"/api/runs/{run}/ask", json={"agent": "fixie/echo"}),
        "cancel": asker.http.post(f"/api/runs/{run}/cancel"),
    }
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(answers, 404)
    assert session not in asker.http.post("/graphql", json=document).json().get("data", {"": None}).values()
    assert session not in handles(asker.http.get("/api/sessions").json()["items"])
    assert listing(asker)["items"] == []
    answer = asker.http.post(f"/api/sessions/{session}/restore")
    assert (answer.status_code, answer.json()["handle"]) == (200, session)
    assert handles(listing(asker)["items"]) == [session]
    assert [message["text"] for message in asker.messages(session)] == ["hello", "hello"]


async def test_sockets_to_a_deleted_session_are_closed_and_none_is_opened(
    site: Site, asker: Person, session: str
) -> None:
    async with socket_to(site, session, asker.key) as socket:
        assert (await socket.frame())["type"] == "synced"
        delete(asker, session)
        assert (await socket.frame())["deleted"]
        assert await socket.close_code() == 4404
    async with socket_to(site, session, asker.key) as socket:
        assert (await socket.frame())["code"] == "not_found"
        assert await socket.close_code() == 4404


def test_events_of_a_deleted_session_end(asker: Person, session: str) -> None:
    with asker.http.stream("GET", f"/api/sessions/{session}/events") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "id: 0"
        delete(asker, session)
        told = list(lines)
    assert any('"deleted":true' in line for line in told)


def test_what_was_deleted_long_ago_cannot_be_restored_and_is_removed_for_good(asker: Person, session: str) -> None:
    asker.post(session, "hello")
    asker.settled(session)
    kept = asker.new_session()
    delete(asker, session)
    delete(asker, kept)
    long_ago = now_here.now() - actions.RESTORABLE - timedelta(seconds=1)
    Session.objects.filter(handle=session).update(deleted=long_ago)
    assert asker.http.post(f"/api/sessions/{session}/restore").status_code == 404
    actions.remove_hidden_sessions(at_most=100)
    assert not Session.objects.filter(handle=session).exists()
    assert not Message.objects.filter(session__handle=session).exists()
    assert asker.http.post(f"/api/sessions/{kept}/restore").status_code == 200


def test_what_is_restored_while_it_is_being_removed_stays(asker: Person, session: str) -> None:
    delete(asker, session)
    found = Session.objects.get(handle=session)
    assert asker.http.post(f"/api/sessions/{session}/restore").status_code == 200
    actions.delete_session(session=found)
    assert asker.http.get(f"/api/sessions/{session}").status_code == 200


@pytest.mark.parametrize("who", ["teammate", "outsider", "anonymous"])
def test_nobody_else_changes_deletes_or_restores_a_session(site: Site, person: Callable[..., Person], who: str) -> None:
    owner, other = person(), person()
    session, deleted = owner.new_session(name="Mine"), owner.new_session()
    delete(owner, deleted)
    if who == "teammate":
        handle = Owner.objects.create(handle=f"org-{owner.user.username}")
        organization = Organization.objects.create(owner=handle, name="Org")
        for member in (owner, other):
            Membership.objects.create(organization=organization, user=member.user, role="member")
    before = list(Session.objects.filter(owner=owner.user).order_by("pk").values())
    requests = [
        ("PATCH", f"/api/sessions/{session}", {"name": "Yours", "archived": True}),
        ("POST", f"/api/sessions/{session}/delete", None),
        ("POST", f"/api/sessions/{deleted}/restore", None),
    ]
    with site.client() as nobody:
        http = nobody if who == "anonymous" else other.http
        for method, path, body in requests:
            assert http.request(method, path, json=body).status_code == (401 if who == "anonymous" else 404)
        if who != "anonymous":
            assert listing(other)["items"] == []
    assert list(Session.objects.filter(owner=owner.user).order_by("pk").values()) == before


def test_a_page_deletes_and_undoes_with_plain_forms(browser: Client, asker: Person) -> None:
    session = asker.new_session(name="Dice & cups")
    asking = browser.get(f"/sessions/{session}/delete").content.decode()
    assert "Dice &amp; cups" in asking
    page = browser.post(f"/sessions/{session}/delete", follow=True)
    assert page.redirect_chain == [("/", 302)]
    text = page.content.decode()
    assert "Deleted “Dice &amp; cups”." in text
    assert f'action="/sessions/{session}/restore"' in text
    assert browser.get(f"/sessions/{session}").status_code == 404
    page = browser.post(f"/sessions/{session}/restore", follow=True)
    assert page.redirect_chain == [(f"/sessions/{session}", 302)]
    assert page.status_code == 200


def test_a_form_sent_twice_says_that_it_is_deleted_already(browser: Client, session: str) -> None:
    browser.post(f"/sessions/{session}/delete")
    page = browser.post(f"/sessions/{session}/delete", follow=True)
    assert page.redirect_chain == [("/", 302)]
    assert "deleted already" in page.content.decode()


def test_undoing_too_late_says_so(browser: Client, asker: Person, session: str) -> None:
    delete(asker, session)
    Session.objects.filter(handle=session).update(deleted=now_here.now() - timedelta(hours=1))
    page = browser.post(f"/sessions/{session}/restore", follow=True)
    assert "too long ago" in page.content.decode()


def test_pages_have_the_list_as_links_and_for_the_script(browser: Client, asker: Person) -> None:
    session, archived = asker.new_session(name="Dice"), asker.new_session(name="Cups")
    change(asker, archived, archived=True)
    page = browser.get(f"/sessions/{session}")
    assert f'<a href="/sessions/{session}" dir="auto" aria-current="page">Dice</a>' in page.content.decode()
    assert page.context["sidebar_data"]["items"][0]["handle"] == session
    page = browser.get("/?archived")
    assert handles(page.context["sidebar_data"]["items"]) == [archived]
    assert browser.get("/?after=nonsense").status_code == 200


def test_the_list_costs_a_page_the_same_however_many_sessions_there_are(
    browser: Client, asker: Person, django_assert_max_num_queries: Any
) -> None:
    for _ in range(12):
        asker.new_session()
    with django_assert_max_num_queries(16):
        browser.get("/")


def at(moment: str) -> Listed:
    active = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    return Listed(moment, "", "", None, active, active, pinned=False, archived=False, busy=False)


def test_days_are_those_of_the_reader() -> None:
    moments = ["2026-11-21T23:30", "2026-11-21T22:30", "2026-11-21T12:00", "2026-11-15T12:00", "2026-10-30T12:00"]
    rows = [at(moment) for moment in [*moments, "2026-09-01T12:00", "2025-09-01T12:00"]]
    berlin = timezone(timedelta(hours=1))
    days = by_days(rows, zone=berlin, now=datetime(2026, 11, 22, 12, tzinfo=UTC))
    assert [(day.name, len(day.rows)) for day in days] == [
        ("Today", 1),
        ("Yesterday", 2),
        ("Previous 7 days", 1),
        ("Previous 30 days", 1),
        ("September 2026", 1),
        ("September 2025", 1),
    ]
