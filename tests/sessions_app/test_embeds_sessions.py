"""The embeds of a session as a whole: reading them costs one query, deleting the session removes what only it used."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import httpx2
from django.db import connection
from django.http import HttpRequest
from django.test.utils import CaptureQueriesContext

from accounts.auth import Caller
from embeds.models import Embed
from sessions_app import api, pages
from sessions_app.models import Session, SessionEmbed
from sessions_app.schemas import MessagePage
from tests.sessions_app.embedded import content_at, embeds_of, ref, upload
from tests.sessions_app.people import Person, wait_until


def with_embeds(person: Person, count: int) -> str:
    """A session of so many questions, each with an embed that is echoed."""
    session = person.new_session()
    for number in range(count):
        person.post(session, "#new", embeds={"new": ref(f"{session} {number}")})
    person.settled(session)
    return session


def test_reading_messages_with_embeds_takes_one_query_more_however_many_there_are(asker: Person) -> None:
    request: Any = HttpRequest()
    request.auth = Caller(user_id=asker.user.pk, jti=None)
    for count in (1, 6):
        session = with_embeds(asker, count)
        with CaptureQueriesContext(connection) as queries:
            items = api.messages(request, session, MessagePage()).items
        assert [len(item.embeds) for item in items] == [1] * count * 2
        assert len(queries) == 5
        with CaptureQueriesContext(connection) as queries:
            assert len(api.embeds(request, session).items) == count
        assert len(queries) == 3


def test_the_page_of_a_session_takes_as_many_queries_with_one_embed_as_with_many(asker: Person) -> None:
    counts = []
    for count in (1, 6):
        session = Session.objects.get(handle=with_embeds(asker, count))
        with CaptureQueriesContext(connection) as queries:
            data = pages.page_data(session)
        assert [list(message["embeds"]) for message in data["messages"]][-1] == [str(count)]
        assert data["next_embed_key"] == count + 1
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_deleted_session_takes_along_what_only_it_used(asker: Person) -> None:
    shared, own = upload(asker, "shared"), upload(asker, "own")
    first, second = asker.new_session(), asker.new_session()
    asker.post(first, "#1 #2", embeds={"1": {"id": shared}, "2": {"id": own}})
    asker.post(second, "#1", embeds={"1": {"id": shared}})
    links = {embed["id"]: embed["uri"] for embed in asker.settled(first)[0]["embeds"].values()}
    asker.settled(second)
    assert asker.http.delete(f"/api/sessions/{first}").status_code == 204
    wait_until(lambda: embeds_of(asker) == {shared})
    assert httpx2.get(links[own]).status_code == 404
    assert content_at(links[shared]) == "shared"
    assert asker.http.delete(f"/api/sessions/{second}").status_code == 204
    wait_until(lambda: not embeds_of(asker))
    assert not SessionEmbed.objects.filter(embed__in=[UUID(shared), UUID(own)]).exists()


def test_the_same_bytes_of_somebody_else_stay(asker: Person, person: Callable[..., Person]) -> None:
    other = person()
    session, theirs = asker.new_session(), other.new_session()
    asker.post(session, "#1", embeds={"1": ref("the same bytes")})
    other.post(theirs, "#1", embeds={"1": ref("the same bytes")})
    kept = other.settled(theirs)[0]["embeds"]["1"]
    asker.settled(session)
    assert asker.http.delete(f"/api/sessions/{session}").status_code == 204
    wait_until(lambda: not embeds_of(asker))
    assert Embed.objects.filter(pk=kept["id"]).exists()
    assert content_at(kept["uri"]) == "the same bytes"


def test_an_embed_of_a_session_stays_for_as_long_as_the_session(asker: Person, session: str) -> None:
    mine = upload(asker, "notes")
    asker.post(session, "#1", embeds={"1": {"id": mine}})
    asker.settled(session)
    assert asker.http.delete(f"/api/embeds/{mine}").status_code == 400
    assert content_at(asker.settled(session)[0]["embeds"]["1"]["uri"]) == "notes"
