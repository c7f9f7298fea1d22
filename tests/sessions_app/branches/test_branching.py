"""Asking in other words: a new session that begins like the old one, and how the two find each other."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from sessions_app.branches.siblings import branches_of
from sessions_app.models import AgentContext, Run, Session, SessionEmbed
from tests.agents import Behaviour, answer
from tests.sessions_app.embedded import contents, ref
from tests.sessions_app.gates import Gate, Stage
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sites import Site

AgentOf = Callable[[Person, Behaviour], str]


def branch(person: Person, session: str, seq: int, text: str, **fields: Any) -> httpx2.Response:
    return person.http.post(f"/api/sessions/{session}/branches", json={"seq": seq, "text": text, **fields})


def branched(person: Person, session: str, seq: int, text: str, **fields: Any) -> str:
    """The handle of the branch, once its query has been answered."""
    made = branch(person, session, seq, text, **fields)
    assert made.status_code == 201, made.text
    person.settled(made.json()["session"])
    return str(made.json()["session"])


def conversation(person: Person, *texts: str, **fields: Any) -> str:
    """A session in which these were asked and answered."""
    session = person.new_session(**fields)
    for text in texts:
        person.post(session, text)
        person.settled(session)
    return session


def texts(person: Person, session: str) -> list[str]:
    return [message["text"] for message in person.settled(session)]


def versions(session: str) -> dict[int, list[str]]:
    """Which sessions part at which query; the one that the reader is in is marked."""
    found = branches_of(Session.objects.get(handle=session))
    return {
        seq: [f"*{each['session']}" if each["current"] else each["session"] for each in parting]
        for seq, parting in found.items()
    }


def teammate_of(person: Person, teammate: Person) -> Person:
    """`teammate`, now in an organization with `person`."""
    from registry.bootstrap import ensure_organization

    organization = ensure_organization(handle=f"team-{uuid.uuid4().hex[:8]}", name="Team", member=person.user)
    organization.members.add(teammate.user)
    return teammate


def owned(person: Person) -> list[str]:
    """All rows of theirs, hidden ones too."""
    return list(Session.objects.filter(owner=person.user).order_by("pk").values_list("handle", flat=True))


def test_a_branch_begins_like_the_old_session_and_asks_the_new_words(asker: Person) -> None:
    session = conversation(asker, "one", "two", "three", name="Numbers")
    before = asker.messages(session)

    made = branch(asker, session, 3, "zwei")

    assert made.status_code == 201, made.text
    assert set(made.json()) == {"session", "run", "seq"}
    assert made.json()["seq"] == 3
    new = made.json()["session"]
    copied = asker.settled(new)
    assert [(m["seq"], m["kind"], m["text"]) for m in copied] == [
        (1, "query", "one"), (2, "response", "one"), (3, "query", "zwei"), (4, "response", "zwei"),
    ]  # fmt: skip
    assert copied[0]["created"] == before[0]["created"]
    assert {m["run"] for m in copied}.isdisjoint(m["run"] for m in before)
    assert copied[2]["run"] == made.json()["run"]
    assert asker.messages(session) == before
    assert (asker.session(new)["name"], asker.session(new)["agent"]) == ("Numbers", "fixie/echo")
    assert versions(session) == {3: [f"*{session}", new]}
    assert versions(new) == {3: [session, f"*{new}"]}


def test_its_runs_are_copies_of_the_time_when_the_work_was_done(asker: Person) -> None:
    session = conversation(asker, "one", "two")
    new = branched(asker, session, 3, "zwei")

    old = Run.objects.get(session__handle=session, query_seq=1)
    copy, own = Run.objects.filter(session__handle=new).order_by("query_seq")
    assert (copy.copied, own.copied, old.copied) == (True, False, False)
    assert (copy.created, copy.started, copy.finished) == (old.created, old.started, old.finished)
    assert copy.pk.int >> 80 == int(old.created.timestamp() * 1000)
    assert (copy.pk.version, copy.status, copy.process) == (7, "completed", None)
    assert Session.objects.get(handle=new).runs == []


def test_the_first_query_in_other_words_has_nothing_before_it(asker: Person) -> None:
    session = conversation(asker, "one", "two")
    new = branched(asker, session, 1, "eins")
    assert texts(asker, new) == ["eins", "eins"]
    assert versions(session) == {1: [f"*{session}", new]}


def test_versions_of_a_query_are_one_list_wherever_they_were_made(asker: Person) -> None:
    """An edit of an edit, and an edit of a copied query, name the session where that query was first asked."""
    old = conversation(asker, "one", "two", "three")
    second = branched(asker, old, 3, "zwei")
    third = branched(asker, second, 3, "deux")
    first = branched(asker, third, 1, "eins")
    asker.post(second, "drei")
    asker.settled(second)
    deeper = branched(asker, second, 5, "trois")

    assert versions(old) == {1: [f"*{old}", first], 3: [f"*{old}", second, third]}
    assert versions(third) == {1: [f"*{third}", first], 3: [old, second, f"*{third}"]}
    assert versions(first) == {1: [old, f"*{first}"]}
    assert versions(deeper) == {
        1: [f"*{deeper}", first],
        3: [old, f"*{deeper}", third],
        5: [second, f"*{deeper}"],
    }
    assert texts(asker, deeper) == ["one", "one", "zwei", "zwei", "trois", "trois"]


def test_deleted_versions_are_gone_and_the_others_still_find_each_other(asker: Person) -> None:
    old = conversation(asker, "one", "two")
    second = branched(asker, old, 3, "zwei")
    third = branched(asker, old, 3, "deux")
    Session.objects.filter(handle=second).update(deleted=timezone.now())
    assert versions(old) == {3: [f"*{old}", third]}
    Session.objects.filter(handle=old).update(deleted=timezone.now())
    assert versions(third) == {}
    Session.objects.filter(owner=asker.user).update(deleted=None)
    fourth = branched(asker, third, 3, "tres")

    assert asker.http.delete(f"/api/sessions/{old}").status_code == 204

    assert texts(asker, third) == ["one", "one", "deux", "deux"]
    assert versions(second) == {3: [f"*{second}", third, fourth]}
    assert versions(fourth) == {3: [second, third, f"*{fourth}"]}
    assert asker.http.delete(f"/api/sessions/{second}").status_code == 204
    assert asker.http.delete(f"/api/sessions/{fourth}").status_code == 204
    assert versions(third) == {}


def test_a_page_asks_once_where_there_are_no_branches_and_never_for_each(asker: Person) -> None:
    old = conversation(asker, "one", "two")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        branches_of(Session.objects.get(handle=old))
    assert len(queries) - 1 == 1
    news = [branched(asker, old, 3, f"no. {number}") for number in range(3)]
    with CaptureQueriesContext(connection) as queries:
        assert len(branches_of(Session.objects.get(handle=news[-1]))[3]) == 4
    assert len(queries) - 1 == 2


def test_embeds_keep_their_keys_and_new_ones_get_others(asker: Person) -> None:
    session = asker.new_session()
    asker.post(session, "What is in #1?", embeds={"1": ref("a cat")})
    asker.post(session, "And in #2, after #1?", embeds={"2": ref("a dog")})
    first, _, second, _ = asker.settled(session)
    assert list(second["embeds"]) == ["1", "2"]

    kept = {key: {"id": embed["id"]} for key, embed in second["embeds"].items()}
    new = branched(asker, session, 3, "In #2 before #1, and #new?", embeds={**kept, "new": ref("a cow")})

    copied = asker.settled(new)
    assert copied[0]["embeds"] | {"1": None} == first["embeds"] | {"1": None}
    assert copied[2]["text"] == "In #2 before #1, and #3?"
    assert contents(copied[2]["embeds"]) == {"1": "a cat", "2": "a dog", "3": "a cow"}


def test_attachments_of_what_is_left_out_stay_behind_and_so_do_contexts(asker: Person) -> None:
    session = asker.new_session()
    asker.post(session, "What is in #1?", embeds={"1": ref("a cat")})
    asker.post(session, "And in #2?", embeds={"2": ref("a dog")})
    asker.settled(session)
    row = Session.objects.get(handle=session)
    AgentContext.objects.create(session=row, agent_id=row.agent_id, context={"heard": "dog"})

    new = branched(asker, session, 3, "Nothing more.")

    assert list(SessionEmbed.objects.filter(session__handle=new).values_list("key", flat=True)) == [1]
    assert not AgentContext.objects.filter(session__handle=new).exists()


def test_while_something_before_it_is_answered_it_is_refused(asker: Person, stage: Stage) -> None:
    gate = Gate()
    agent = stage.query_agent(asker.http, gate, "late")
    session = asker.new_session(agent)
    asker.post(session, "one")
    asker.post(session, "@fixie/echo two")
    gate.until_reached()
    before = owned(asker)

    refused = branch(asker, session, 2, "zwei")

    assert (refused.status_code, error_of(refused)["code"]) == (409, "session_busy")
    assert owned(asker) == before
    # The query at work may itself be asked in other words: nothing of it is copied.
    new = branch(asker, session, 1, "@fixie/echo eins").json()["session"]
    assert texts(asker, new) == ["@fixie/echo eins", "eins"] or texts(asker, new)[0] == "@fixie/echo eins"
    gate.open.set()
    asker.settled(session)


def test_answers_that_came_while_a_query_waited_come_along(asker: Person, stage: Stage) -> None:
    """They stand behind that query, and move up where it is left out."""
    gate = Gate()
    agent = stage.query_agent(asker.http, gate, "late")
    session = asker.new_session()
    asker.post(session, f"@{agent} one")
    asker.post(session, "two")
    asker.post(session, "three")
    gate.until_reached()
    gate.open.set()
    assert [m["in_reply_to"] for m in asker.settled(session)] == [None, None, None, 1, 2, 3]

    new = branched(asker, session, 3, "drei")

    told = asker.settled(new)
    assert [(m["seq"], m["text"], m["in_reply_to"]) for m in told] == [
        (1, f"@{agent} one", None), (2, "two", None), (3, "late", 1), (4, "two", 2), (5, "drei", None), (6, "drei", 5),
    ]  # fmt: skip
    assert versions(new) == {5: [session, f"*{new}"]}
    assert versions(session) == {3: [f"*{session}", new]}
    again = branched(asker, new, 5, "trois")
    assert versions(session) == {3: [f"*{session}", new, again]}
    [shown] = branches_of(Session.objects.get(handle=again)).values()
    assert [(version["session"], version["seq"]) for version in shown] == [(session, 3), (new, 5), (again, 5)]


def test_the_same_client_id_is_the_same_branch_also_at_once(asker: Person) -> None:
    session = conversation(asker, "one", "two")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: branch(asker, session, 3, "zwei", client_id="a"), range(4)))
    assert {each.status_code for each in made} == {201}
    [answered] = {tuple(sorted(each.json().items())) for each in made}
    wait_until(lambda: len(owned(asker)) == 2)
    assert branch(asker, session, 3, "zwei", client_id="a").json() == dict(answered)
    assert branch(asker, session, 3, "zwei", client_id="b").json()["session"] not in owned(asker)[:2]
    assert len(versions(session)[3]) == 3


def test_two_edits_at_once_are_two_branches(asker: Person) -> None:
    session = conversation(asker, "one", "two")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda text: branched(asker, session, 3, text), ["a", "b", "c", "d"]))
    assert len(versions(session)[3]) == 5
    assert sorted(texts(asker, each)[2] for each in made) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("text", "fields", "status"),
    [
        ("@nobody/nothing hello", {}, 404),
        ("  ", {}, 400),
        ("x" * 70_000, {}, 413),
        ("Look at #1", {"embeds": {"1": {"id": str(uuid.uuid4())}}}, 404),
        ("hello", {"client_id": ""}, 400),
        ("hello", {"seq": 2}, 400),
        ("hello", {"seq": 99}, 400),
        ("hello", {"seq": 0}, 400),
    ],
)
def test_what_cannot_be_asked_leaves_nothing_behind(asker: Person, text: str, fields: Json, status: int) -> None:
    session = conversation(asker, "one")
    before = asker.messages(session)
    refused = asker.http.post(f"/api/sessions/{session}/branches", json={"seq": 1, "text": text, **fields})
    assert refused.status_code == status, refused.text
    assert error_of(refused)["message"]
    assert (owned(asker), asker.messages(session)) == ([session], before)


def test_without_quota_nothing_is_copied(person: Callable[..., Person]) -> None:
    asker = person(daily_query_limit=1)
    session = conversation(asker, "one")
    refused = branch(asker, session, 1, "eins")
    assert (refused.status_code, error_of(refused)["code"]) == (429, "quota_exceeded")
    assert owned(asker) == [session]


def test_an_agents_question_is_nobodys_to_ask_in_other_words(asker: Person) -> None:
    from tests.browser.scenes import store_tree

    session = asker.new_session()
    store_tree(session)
    assert branch(asker, session, 2, "roll 2d6").status_code == 400
    assert owned(asker) == [session]


def test_only_the_owner_branches(person: Callable[..., Person], asker: Person, site: Site) -> None:
    session = conversation(asker, "one")
    teammate = teammate_of(asker, person())
    with site.client() as nobody:
        path, body = f"/api/sessions/{session}/branches", {"seq": 1, "text": "eins"}
        assert nobody.post(path, json=body).status_code == 401
        for stranger in (teammate, person()):
            assert branch(stranger, session, 1, "eins").status_code == 404
            assert branch(stranger, "no-such-session", 1, "eins").status_code == 404
            assert owned(stranger) == []
    assert owned(asker) == [session]
    Session.objects.filter(handle=session).update(deleted=timezone.now())
    assert branch(asker, session, 1, "eins").status_code == 404
    assert owned(asker) == [session]


def test_until_its_query_is_accepted_a_branch_counts_as_deleted(asker: Person) -> None:
    """So a process that is killed in between leaves nothing that anybody sees, and the clean-up takes it."""
    from accounts.auth import Caller
    from sessions_app.branches.branching import _prepared

    session = conversation(asker, "one", "two")
    hidden = _prepared(Caller(asker.user.pk, jti=None), session, 3)
    assert asker.http.get(f"/api/sessions/{hidden.handle}").status_code == 404
    assert asker.http.post(f"/api/sessions/{hidden.handle}/messages", json={"text": "x"}).status_code == 404
    assert versions(session) == {}
    assert Session.objects.get(pk=hidden.pk).deleted is not None


def test_a_session_that_is_deleted_meanwhile_is_copied_whole_or_not_at_all(asker: Person) -> None:
    from sessions_app.actions import delete_session

    for _ in range(5):
        session = conversation(asker, "one", "two")
        row = Session.objects.get(handle=session)
        thread = threading.Thread(target=_closing, args=(delete_session,), kwargs={"session": row})
        thread.start()
        made = branch(asker, session, 3, "zwei")
        thread.join()
        assert made.status_code in (201, 404, 400), made.text
        if made.status_code == 201:
            assert texts(asker, made.json()["session"]) == ["one", "one", "zwei", "zwei"]


def _closing(function: Callable[..., object], **fields: Any) -> None:
    try:
        function(**fields)
    finally:
        connection.close()


def test_what_failed_is_copied_as_it_ended(asker: Person, agent_of: AgentOf) -> None:
    agent = agent_of(asker, answer("It broke.", status=500))
    session = conversation(asker, f"@{agent} one", "two")
    failed = asker.messages(session)[1]

    new = branched(asker, session, 3, "zwei")

    told = asker.http.get(f"/api/sessions/{new}/messages").json()
    assert (told["items"][1]["kind"], told["items"][1]["text"]) == ("error", failed["text"])
    [run] = [run for run in told["runs"] if run["query"] == 1]
    assert (run["status"], run["error"]["code"]) == ("failed", "agent_error")
