"""Searching in one's sessions: which words find what, what is shown of it, and whose it is."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st

from common.db import close_pool, run_db
from sessions_app.models import SearchEntry, Session
from sessions_app.sidebar import search
from sessions_app.sidebar.searching import excerpt, wanted
from tests.sessions_app.people import Json, Person
from tests.sites import Site


def hits(person: Person, words: str, **query: Any) -> list[Json]:
    answer = person.http.get("/api/sessions/search", params={"q": words, **query})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["items"])


def found(person: Person, words: str) -> list[str]:
    return [hit["session"] for hit in hits(person, words)]


def marked(hit: Json) -> str:
    return "".join(f"[{part['text']}]" if part["hit"] else part["text"] for part in hit["parts"])


def said(person: Person, *texts: str, **fields: Any) -> str:
    """A new session in which these were asked, and echoed."""
    session = person.new_session(**fields)
    for text in texts:
        person.post(session, text)
        person.settled(session)
    return session


@pytest.fixture
def dice(asker: Person) -> str:
    return said(asker, "Roll the *Über-Würfel* three times", "What is 東京タワー called in English? It's 3.5 km away")


@pytest.mark.parametrize(
    "words",
    [
        "roll",
        "ROLL",
        "wurfel",
        "würfel uber",
        "three rol",
        "times roll",
        '"three times"',
        '"the über',
        "東京",
        "タワ",
        "3.5 km",
        "it's",
        "engl",
    ],
)
def test_words_find_a_message(asker: Person, dice: str, words: str) -> None:
    assert found(asker, words) == [dice]


@pytest.mark.parametrize("words", ["rolls", "rol three", "roll english", '"times three"', "olling", "京東", "x"])
def test_words_that_do_not_stand_there_together_find_nothing(asker: Person, dice: str, words: str) -> None:
    assert found(asker, words) == []


@pytest.mark.parametrize("words", ["", "  ", "!?*", '"', '""', "\0", "-", "🎲", "'; --", ":*", "& | !", "\\"])
def test_signs_alone_find_nothing(asker: Person, dice: str, words: str) -> None:
    assert found(asker, words) == []


def test_very_long_input_is_answered(asker: Person, dice: str) -> None:
    assert found(asker, "roll " * 1000) == [dice]
    assert found(asker, "x" * 1000) == []


def test_the_place_is_shown_with_what_was_found(asker: Person) -> None:
    session = said(asker, f"{'before ' * 30}the quick <b>fox</b>\njumps {'after ' * 60}")
    [hit] = hits(asker, "jumps fo")
    assert (hit["session"], hit["seq"], hit["archived"]) == (session, 2, False)
    text = marked(hit)
    assert "quick <b>[fo]x</b> [jumps] after" in text
    assert text.startswith("…")
    assert text.endswith("…")
    assert len(text) < 300


def test_the_last_message_that_has_it_is_found(asker: Person) -> None:
    said(asker, "lemons", "limes", "lemons again", "limes again")
    assert [hit["seq"] for hit in hits(asker, "lemons")] == [6]


def test_names_are_found_and_forgotten_with_them(asker: Person) -> None:
    session = said(asker, name="Citrus trees")
    [hit] = hits(asker, "citr")
    assert (hit["session"], hit["seq"], hit["title"], marked(hit)) == (session, None, "Citrus trees", "[Citr]us trees")
    asker.http.patch(f"/api/sessions/{session}", json={"name": "Apples"})
    assert (found(asker, "citrus"), found(asker, "apples")) == ([], [session])
    asker.http.patch(f"/api/sessions/{session}", json={"name": ""})
    assert found(asker, "apples") == []


def test_archived_sessions_are_found_and_deleted_ones_never(asker: Person) -> None:
    archived, deleted = said(asker, "pomelo"), said(asker, "pomelo")
    asker.http.patch(f"/api/sessions/{archived}", json={"archived": True})
    asker.http.post(f"/api/sessions/{deleted}/delete")
    assert [(hit["session"], hit["archived"]) for hit in hits(asker, "pomelo")] == [(archived, True)]
    asker.http.post(f"/api/sessions/{deleted}/restore")
    assert set(found(asker, "pomelo")) == {archived, deleted}


def test_what_was_asked_last_comes_first_and_no_more_than_is_wanted(asker: Person) -> None:
    sessions = [said(asker, "kumquat") for _ in range(3)]
    assert found(asker, "kumquat") == sessions[::-1]
    assert [hit["session"] for hit in hits(asker, "kumquat", limit=2)] == sessions[:0:-1]


def test_nobody_finds_what_others_said(site: Site, person: Callable[..., Person]) -> None:
    owner, other = person(), person()
    said(owner, "grapefruit", name="grapefruit")
    assert found(owner, "grapefruit")
    assert found(other, "grapefruit") == []
    # Not even who knows how the index tells them apart.
    assert found(other, f"' {owner.user.pk}'") == []
    with site.client() as nobody:
        assert nobody.get("/api/sessions/search", params={"q": "grapefruit"}).status_code == 401


def test_a_message_is_found_that_came_after_the_last_search(asker: Person) -> None:
    session = said(asker, "tangerine")
    assert found(asker, "tangerine") == [session]
    asker.post(session, "clementine")
    assert found(asker, "clementine") == [session]


async def test_what_nobody_searched_for_is_prepared_in_the_background(asker: Person) -> None:
    session = said(asker, "bergamot")
    while await search.prepare():
        pass
    row = await Session.objects.aget(handle=session)
    assert row.searched_seq == row.last_seq
    assert await SearchEntry.objects.filter(session=row).acount() == 2


def test_what_is_beyond_the_newest_sessions_is_found_by_the_index(
    asker: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = said(asker, "yuzu")
    old = timezone.now() - timedelta(days=900)
    Session.objects.filter(handle=session).update(active=old)
    Session.objects.bulk_create(
        Session(handle=f"{session}-{number}", owner=asker.user) for number in range(search.WIDER[0] + 1)
    )
    assert found(asker, "yuzu") == [session]


@pytest.mark.parametrize("newest", [(0, 1), (1, 1), (3, 4)])
def test_wherever_it_is_looked_for_the_same_is_found(
    asker: Person, monkeypatch: pytest.MonkeyPatch, newest: tuple[int, int]
) -> None:
    sessions = [said(asker, f"common plum {number}", "plum common") for number in range(5)]
    rare = said(asker, "plum common quince")
    monkeypatch.setattr(search, "NEWEST", newest)
    monkeypatch.setattr(search, "WIDER", (3, 6))

    def found_here(words: str, limit: int) -> list[str]:
        return [hit.session for hit in async_to_sync(search_and_close)(asker.user.pk, words, limit)]

    newest_first = sessions[::-1]
    assert found_here("plum", 20) == [rare, *newest_first]
    assert found_here('"common plum"', 20) == newest_first
    assert found_here('"common plum"', 2) == newest_first[:2]
    assert found_here('"plum quince"', 20) == []
    assert found_here("quince", 20) == [rare]


async def search_and_close(user: int, words: str, limit: int) -> list[search.Hit]:
    """As the site does it, in a loop of its own."""
    try:
        return await search.search(user, words, limit=limit)
    finally:
        await close_pool()


async def test_a_round_of_preparing_takes_so_many_bytes(asker: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    session = await run_db(said, asker, "apple " * 50, "pear " * 50, "plum " * 50)
    await run_db(SearchEntry.objects.filter(session__handle=session).delete)
    await run_db(Session.objects.filter(handle=session).update, searched_seq=0)
    # The first question alone is larger, and each of the others.
    monkeypatch.setattr(search, "BYTES_AT_ONCE", 100)
    seen = []
    while await search.prepare(asker.user.pk):
        seen.append((await Session.objects.aget(handle=session)).searched_seq)
    assert seen == [1, 2, 3, 4, 5, 6]
    assert await SearchEntry.objects.filter(session__handle=session).acount() == 6


def test_the_search_of_all_messages_uses_the_index() -> None:
    params: dict[str, Any] = {"user": 1, "words": "'x'", "owner": "' 1'", "limit": 20, "start": 9, "characters": 9}
    with connection.cursor() as cursor:
        # A table as small as this one would be read in another way.
        cursor.execute("SET enable_seqscan = off; SET enable_indexscan = off")
        cursor.execute(f"EXPLAIN {search._ALL}{search._SHOWN}", params)
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("RESET enable_seqscan; RESET enable_indexscan")
    assert "Bitmap Index Scan on words_of_messages" in plan


@settings(deadline=None)
@given(st.text())
def test_any_input_is_a_query_or_none(typed: str) -> None:
    sought = wanted(typed)
    if sought is None:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_tsquery('simple', %s)", [sought.tsquery])


@settings(deadline=None)
@given(st.text(), st.text())
def test_what_is_shown_stands_in_the_text(typed: str, text: str) -> None:
    if (sought := wanted(typed)) is not None:
        shown = "".join(part.text for part in excerpt(text, sought, whole=True))
        assert len(shown) <= len(text) + 1
