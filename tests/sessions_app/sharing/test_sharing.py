"""Links to conversations: who reads what by them, until when, and how readers go on from there."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from embeds.models import Embed
from sessions_app.models import Message, Run, Session, SharedLink
from sessions_app.sharing.links import followed, share_session, shared_page
from tests.sessions_app.branches.test_branching import conversation, teammate_of
from tests.sessions_app.embedded import contents, ref, upload
from tests.sessions_app.gates import Gate, Stage
from tests.sessions_app.people import Json, Person, error_of
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

GONE = "This link no longer works"


@pytest.fixture
def nobody(site: Site) -> Iterator[httpx2.Client]:
    with site.client() as client:
        yield client


def share(person: Person, session: str) -> Json:
    shared = person.http.post(f"/api/sessions/{session}/share")
    assert shared.status_code == 200, shared.text
    return dict(shared.json())


def path_of(link: Json) -> str:
    return "/shared/" + str(link["url"]).rpartition("/")[2]


def shown(page: httpx2.Response) -> Json:
    """What the page is delivered with."""
    assert page.status_code == 200, page.text
    data = re.search(r'<script id="shared-data" type="application/json">(.*?)</script>', page.text, re.DOTALL)
    assert data is not None
    return dict(json.loads(data[1]))


def test_whoever_has_the_link_reads_the_conversation(asker: Person, nobody: httpx2.Client) -> None:
    session = conversation(asker, "Hello there", "And again")
    link = share(asker, session)
    page = nobody.get(path_of(link))

    assert [message["text"] for message in shown(page)["messages"]] == [
        "Hello there", "Hello there", "And again", "And again",
    ]  # fmt: skip
    assert [run["status"] for run in shown(page)["runs"]] == ["completed"] * 2
    assert (link["last_seq"], "Hello there" in page.text) == (4, True)


def test_the_page_names_neither_the_owner_nor_the_session(asker: Person, nobody: httpx2.Client) -> None:
    session = conversation(asker, "Hello")
    page = nobody.get(path_of(share(asker, session)))
    for secret in (session, asker.user.username, asker.user.email, str(asker.user.pk) + "@"):
        assert secret not in page.text
    assert all(run["tokens"] is None for run in shown(page)["runs"])


def test_the_address_goes_into_no_index_no_cache_and_to_no_other_site(asker: Person, nobody: httpx2.Client) -> None:
    path = path_of(share(asker, conversation(asker, "Hello")))
    for answer in (nobody.get(path), nobody.get(f"{path}/messages?since=0"), nobody.get(f"{path}x")):
        assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"
        assert answer.headers["Referrer-Policy"] == "same-origin"
        assert answer.headers["Cache-Control"] == "no-store"


def test_what_comes_later_is_shown_after_an_update_of_the_same_link(asker: Person, nobody: httpx2.Client) -> None:
    session = conversation(asker, "one")
    link = share(asker, session)
    asker.post(session, "two")
    asker.settled(session)

    assert len(shown(nobody.get(path_of(link)))["messages"]) == 2
    state = asker.http.get(f"/api/sessions/{session}/share").json()
    assert (state["link"]["url"], state["link"]["last_seq"], state["last_seq"]) == (link["url"], 2, 4)

    assert share(asker, session)["url"] == link["url"]
    assert len(shown(nobody.get(path_of(link)))["messages"]) == 4


def test_what_is_still_being_answered_is_not_shown(asker: Person, nobody: httpx2.Client, stage: Stage) -> None:
    """Nor is an answer cut through by queries that came while it was made."""
    gate = Gate()
    agent = stage.query_agent(asker.http, gate, "late")
    session = asker.new_session()
    early = asker.http.post(f"/api/sessions/{session}/share")
    assert (early.status_code, error_of(early)["code"]) == (400, "invalid_request")
    asker.post(session, f"@{agent} one")
    asker.post(session, "two")
    gate.until_reached()
    early = asker.http.post(f"/api/sessions/{session}/share")
    assert (early.status_code, error_of(early)["code"]) == (409, "session_busy")
    assert not SharedLink.objects.filter(session__handle=session).exists()

    gate.open.set()
    asker.settled(session)
    gate = Gate()
    asker.post(session, f"@{stage.query_agent(asker.http, gate, 'later')} three")
    gate.until_reached()
    link = share(asker, session)
    assert link["last_seq"] == 4
    gate.open.set()
    asker.settled(session)
    assert len(shown(nobody.get(path_of(link)))["messages"]) == 4


def test_an_answer_that_stands_behind_a_waiting_query_is_not_cut_off(asker: Person) -> None:
    row = Session.objects.create(handle=f"s-{uuid.uuid4().hex}", owner=asker.user, last_seq=6)
    runs = [
        Run(id=uuid.uuid4(), session=row, query_seq=seq, status=status)
        for seq, status in [(1, "completed"), (3, "completed"), (5, "in_progress")]
    ]
    Run.objects.bulk_create(runs)
    kinds = [(0, "query", None), (0, "response", 1), (1, "query", None), (1, "thought", 3), (2, "query", None)]
    kinds.append((1, "response", 3))
    Message.objects.bulk_create(
        Message(session=row, seq=seq, run=runs[run], kind=kind, text=kind, in_reply_to=reply)
        for seq, (run, kind, reply) in enumerate(kinds, 1)
    )
    assert share_session(session=row).last_seq == 2


def test_attachments_come_by_links_that_need_no_key(asker: Person, nobody: httpx2.Client) -> None:
    session = asker.new_session()
    asker.post(session, "What is in #1?", embeds={"1": ref("a cat")})
    asker.settled(session)
    [query, _] = shown(nobody.get(path_of(share(asker, session))))["messages"]
    assert contents(query["embeds"]) == {"1": "a cat"}


def test_a_revoked_link_leads_nowhere_and_the_next_one_is_another(asker: Person, nobody: httpx2.Client) -> None:
    session = conversation(asker, "Hello")
    link = share(asker, session)
    for _ in range(2):
        assert asker.http.delete(f"/api/sessions/{session}/share").status_code == 204
    page = nobody.get(path_of(link))
    assert (page.status_code, GONE in page.text) == (404, True)
    assert nobody.get(f"{path_of(link)}/messages").status_code == 404
    assert asker.http.get(f"/api/sessions/{session}/share").json()["link"] is None
    assert share(asker, session)["url"] != link["url"]
    assert nobody.get(path_of(link)).status_code == 404


def test_all_links_that_lead_nowhere_look_the_same(
    asker: Person, person: Callable[..., Person], nobody: httpx2.Client
) -> None:
    revoked = share(asker, conversation(asker, "one"))
    asker.http.delete(f"/api/sessions/{_session_of(revoked)}/share")
    deleted = share(asker, conversation(asker, "two"))
    Session.objects.filter(handle=_session_of(deleted)).update(deleted=timezone.now())
    removed = share(asker, conversation(asker, "three"))
    asker.http.delete(f"/api/sessions/{_session_of(removed)}")
    gone = person()
    banned = share(gone, conversation(gone, "four"))
    type(gone.user).objects.filter(pk=gone.user.pk).update(is_active=False)
    tokens = [path_of(link).removeprefix("/shared/") for link in (revoked, deleted, removed, banned)]
    pages = [nobody.get(f"/shared/{token}") for token in [*tokens, "x", "A" * 43, "%00" * 43, "ä" * 43, "a b"]]
    assert {page.status_code for page in pages} == {404}
    # Each names its own address, where a form of the page leads back to.
    assert len({re.sub(r'name="(csrfmiddlewaretoken|next)" value="[^"]*"', "", page.text) for page in pages}) == 1


def _session_of(link: Json) -> str:
    return SharedLink.objects.get(token=path_of(link).removeprefix("/shared/")).session.handle


def test_only_the_owner_shares_and_revokes(person: Callable[..., Person], asker: Person, nobody: httpx2.Client) -> None:
    session = conversation(asker, "Hello")
    link = share(asker, session)
    teammate = teammate_of(asker, person())
    for who, status in ((nobody, 401), (teammate.http, 404), (person().http, 404)):
        for method in ("GET", "POST", "DELETE"):
            assert who.request(method, f"/api/sessions/{session}/share").status_code == status
    assert nobody.get(path_of(link)).status_code == 200
    assert SharedLink.objects.filter(session__handle=session).count() == 1


def test_sharing_twice_at_once_makes_one_link(asker: Person) -> None:
    session = conversation(asker, "Hello")
    with ThreadPoolExecutor(6) as pool:
        links = list(pool.map(lambda _: share(asker, session)["url"], range(6)))
    assert len({*links}) == 1
    token = links[0].rpartition("/")[2]
    assert (len(token), SharedLink.objects.filter(session__handle=session).count()) == (43, 1)


def test_a_long_conversation_is_read_in_pages(asker: Person) -> None:
    from tests.sessions_app.rows import fill

    session = asker.new_session()
    fill(session, 1_000)
    link = share_session(session=Session.objects.get(handle=session))
    seen: list[int] = []
    while len(seen) < 1_000:
        with CaptureQueriesContext(connection) as queries:
            page = shared_page(followed(link.token), since=len(seen))
        assert len(queries) <= 5
        seen += [message["seq"] for message in page.messages]
    assert seen == list(range(1, 1_001))
    assert shared_page(link, since=1_000).messages == []


def test_a_reader_goes_on_in_a_copy_of_their_own(
    asker: Person, person: Callable[..., Person], site: Site, nobody: httpx2.Client
) -> None:
    session = asker.new_session()
    asker.post(session, "What is in #1?", embeds={"1": {"id": upload(asker, "a cat", name="cat.txt")}})
    asker.settled(session)
    link = share(asker, session)
    asker.post(session, "My secret")
    asker.settled(session)
    reader = person()

    answer = signed_in(reader.user).post(f"{path_of(link)}/continue")

    [copy] = Session.objects.filter(owner=reader.user)
    assert answer.headers["Location"] == f"/sessions/{copy.handle}"
    assert copy.branched_from is None
    query, response = reader.messages(copy.handle)
    assert (query["text"], response["text"]) == ("What is in #1?", "What is in #1?")
    assert contents(query["embeds"]) == {"1": "a cat"}
    [embed] = Embed.objects.filter(owner=reader.user)
    assert (query["embeds"]["1"]["id"], query["embeds"]["1"]["name"]) == (str(embed.pk), "cat.txt")
    assert reader.post(copy.handle, "And now?")["seq"] == 3
    assert len(reader.settled(copy.handle)) == 4
    assert len(asker.messages(session)) == 4
    # What is gone there stays here.
    asker.http.delete(f"/api/sessions/{session}")
    assert contents(reader.messages(copy.handle)[0]["embeds"]) == {"1": "a cat"}


def test_the_copy_tells_nothing_that_the_link_does_not_show(asker: Person, person: Callable[..., Person]) -> None:
    made = asker.http.post("/api/agents", json={"handle": f"private-{uuid.uuid4().hex[:8]}", "description": "Mine"})
    session = asker.new_session(agent=f"{asker.user.username}/{made.json()['handle']}", description="For my lawyer")
    asker.post(session, "@fixie/echo Hello")
    asker.settled(session)
    Run.objects.filter(session__handle=session).update(prompt_tokens=70, completion_tokens=7)
    path, reader = path_of(share(asker, session)), person()

    signed_in(reader.user).post(f"{path}/continue")

    [copy] = reader.http.get("/api/sessions").json()["items"]
    assert (copy["description"], copy["agent"], copy["last_seq"]) == ("", None, 2)
    [run] = reader.http.get(f"/api/sessions/{copy['handle']}/messages").json()["runs"]
    assert run["tokens"] is None


def test_who_is_signed_out_or_has_no_room_copies_nothing(
    asker: Person, person: Callable[..., Person], monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    session = asker.new_session()
    asker.post(session, "What is in #1?", embeds={"1": ref("a cat")})
    asker.settled(session)
    path = path_of(share(asker, session))
    assert Client().post(f"{path}/continue").headers["Location"] == path
    reader = person()
    assert signed_in(reader.user).get(f"{path}/continue").headers["Location"] == path
    settings.EMBED_MAX_BYTES_PER_USER = 10
    refused = signed_in(reader.user).post(f"{path}/continue", follow=True)
    assert refused.redirect_chain == [(path, 302)]
    assert "All embeds of a user together" in refused.content.decode()
    asker.http.delete(f"/api/sessions/{session}/share")
    assert signed_in(reader.user).post(f"{path}/continue").status_code == 404
    assert not Session.objects.filter(owner=reader.user).exists()


def test_a_list_of_links_costs_no_more_queries_than_one_link(asker: Person) -> None:
    counts = []
    for _ in range(2):
        share(asker, conversation(asker, "Hello"))
        share(asker, conversation(asker, "Hello again"))
        with CaptureQueriesContext(connection) as queries:
            assert signed_in(asker.user).get("/account/links").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_my_links_are_listed_with_a_way_to_stop(asker: Person, person: Callable[..., Person]) -> None:
    session = conversation(asker, "Roll <b>dice</b>")
    link = share(asker, session)
    mine = signed_in(asker.user)
    page = mine.get("/account/links").content.decode()
    assert path_of(link) in page
    assert "Roll &lt;b&gt;dice" in page
    assert path_of(link) not in signed_in(person().user).get("/account/links").content.decode()
    assert signed_in(person().user).post(f"/account/links/{session}/revoke").status_code == 404
    assert Client().get("/account/links").headers["Location"].startswith("/accounts/login/")
    assert mine.get(f"/account/links/{session}/revoke").status_code == 405
    for _ in range(2):
        assert mine.post(f"/account/links/{session}/revoke").headers["Location"] == "/account/links"
    assert path_of(link) not in mine.get("/account/links").content.decode()
    assert Client().get(path_of(link)).status_code == 404


def signed_in(user: "User") -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client
