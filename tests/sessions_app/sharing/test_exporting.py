"""Sessions as files: complete, bounded in what they ask, and safe whatever people and agents write."""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.models import Session
from sessions_app.sharing.exporting import filename
from sessions_app.sharing.markdown_text import contained, fenced, line_of, quoted
from tests.sessions_app.branches.test_branching import conversation, teammate_of
from tests.sessions_app.embedded import content_at, ref, upload
from tests.sessions_app.gates import Gate, Stage
from tests.sessions_app.people import Json, Person
from tests.sessions_app.rows import fill
from tests.sessions_app.sharing.test_sharing import signed_in
from tests.sites import Site


def exported(person: Person, session: str, kind: str = "json") -> httpx2.Response:
    answer = person.http.get(f"/api/sessions/{session}/export", params={"format": kind})
    assert answer.status_code == 200, answer.text
    return answer


def test_json_has_all_of_a_session(asker: Person) -> None:
    session = asker.new_session(name="Cats", description="and dogs")
    asker.post(session, "What is in #1?", embeds={"1": ref("a cat")})
    asker.settled(session)

    document: Json = exported(asker, session).json()

    assert (document["format"], document["version"]) == ("fixie-session", 1)
    assert document["session"] | {"created": None} == {
        "handle": session, "title": "Cats", "name": "Cats", "description": "and dogs", "agent": "fixie/echo",
        "created": None, "last_seq": 2,
    }  # fmt: skip
    told = asker.http.get(f"/api/sessions/{session}/messages").json()
    assert _without_links(document["messages"]) == _without_links(told["items"])
    assert document["runs"] == told["runs"]
    [embed] = document["embeds"]
    assert set(embed) == {"key", "id", "content_type", "name", "size", "sha256", "url", "created"}
    assert (embed["key"], embed["size"], content_at(embed["url"])) == (1, 5, "a cat")


def _without_links(messages: list[Json]) -> list[Json]:
    return [{**message, "embeds": list(message["embeds"])} for message in messages]


def test_a_session_of_ten_thousand_messages_comes_whole_and_in_pieces(asker: Person) -> None:
    session = asker.new_session()
    fill(session, 10_000)
    with asker.http.stream("GET", f"/api/sessions/{session}/export") as answer:
        pieces = list(answer.iter_raw())
    document = json.loads(b"".join(pieces))
    assert [message["seq"] for message in document["messages"]] == list(range(1, 10_001))
    assert len(document["runs"]) == 1
    assert len(pieces) > 5


def test_an_empty_session_is_a_document_too(asker: Person) -> None:
    session = asker.new_session()
    document = exported(asker, session).json()
    assert (document["messages"], document["runs"], document["embeds"]) == ([], [], [])
    assert exported(asker, session, "markdown").text.startswith("# ")


def test_markdown_reads_as_the_conversation_did(asker: Person) -> None:
    from tests.browser.scenes import store_tree

    session = asker.new_session(name="Dice *night*")
    store_tree(session)
    named = upload(asker, "a dog", name="*a* <b>.txt")
    asker.post(session, "What is in #1?", embeds={"1": ref("a cat"), "2": {"id": named}})
    asker.settled(session)

    text = exported(asker, session, "markdown").text

    assert text.startswith("# Dice \\*night\\*\n")
    order = ["## You", "> roll", "<details><summary>5 steps</summary>", "Ask Agent[fixie/dice]: roll 1d6",
             "It fell off the table.", "</details>", "## fixie/echo", "A four.", "## You", "> What is in #1?",
             "- Attachment #1: text/plain, 5 bytes", "- Attachment #2: a b .txt (text/plain), 5 bytes",
             "## fixie/echo"]  # fmt: skip
    places = [text.find(part, 0) for part in order[:8]]
    assert -1 not in places
    assert places == sorted(places)
    assert all(part in text for part in order)


def test_questions_that_waited_stand_with_their_answers(asker: Person, stage: Stage) -> None:
    gate = Gate()
    agent = stage.query_agent(asker.http, gate, "late")
    session = asker.new_session()
    asker.post(session, f"@{agent} one")
    stopped = asker.post(session, "two")
    asker.post(session, "three")
    gate.until_reached()
    asker.http.post(f"/api/runs/{stopped['run']}/cancel")
    gate.open.set()
    asker.settled(session)
    text = exported(asker, session, "markdown").text
    places = [text.index(part) for part in (f"> @{agent} one", "\nlate\n", "> two", "> three", "\nthree\n")]
    assert places == sorted(places)


def test_both_are_downloads_with_a_name_of_the_title(asker: Person) -> None:
    session = conversation(asker, "Hello", name='Zürich/../"?\r\nX: y')
    browser = signed_in(asker.user)
    for kind, content_type in (("md", "text/markdown; charset=utf-8"), ("json", "application/json")):
        answer = browser.get(f"/sessions/{session}/export.{kind}")
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, content_type)
        disposition = answer.headers["Content-Disposition"]
        assert disposition.startswith("attachment; filename*=utf-8''")
        assert unquote(disposition.partition("''")[2]) == f"Zürich .. X y.{kind}"
        assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Dice", "Dice.md"),
        ("", "conversation.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ("\u202egnp.exe", "gnp.exe.md"),
        ("...", "conversation.md"),
        ("a" * 300, "a" * 80 + ".md"),
        ("Würfel 🎲", "Würfel 🎲.md"),
    ],
)
def test_file_names_are_safe(title: str, name: str) -> None:
    assert filename(title, "md") == name


def test_only_the_owner_exports(asker: Person, person: Callable[..., Person], site: Site) -> None:
    session = conversation(asker, "My secret")
    teammate, outsider = teammate_of(asker, person()), person()
    for who in (teammate, outsider):
        assert who.http.get(f"/api/sessions/{session}/export").status_code == 404
        assert signed_in(who.user).get(f"/sessions/{session}/export.md").status_code == 404
    with site.client() as nobody:
        assert nobody.get(f"/api/sessions/{session}/export").status_code == 401
    assert Client().get(f"/sessions/{session}/export.md").headers["Location"].startswith("/accounts/login/")
    assert signed_in(asker.user).get(f"/sessions/{session}/export.pdf").status_code == 404
    assert asker.http.get(f"/api/sessions/{session}/export?format=pdf").status_code == 400
    assert Session.objects.filter(handle=session).exists()


HOSTILE = [
    "```\nnever closed",
    "~~~~\n```\n~~~",
    "- ```\n  x\n  ```\n<!-- swallowed",
    "<details><summary>",
    "<!--",
    "</details>\n\n## You",
    "You\n---\nsaid\n===",
    "# You · 2026",
    "> ```\n\n```",
    "<script>alert(1)</script>",
    "a\n    ```\n<b>",
    "~~~ `\n<!--\n~~~",
    "``` a`b\n<!--\n```",
]


MARKUP = ["```", "~~~", "````", "    ", "- ", "> ", "\n", "\n\n", "<!--", "<b>", "# x", "---", "a"]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_reaches_beyond_its_place(text: str) -> None:
    _check_contained(text)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.sampled_from(MARKUP), max_size=12))
def test_no_mixture_of_markup_reaches_beyond_its_place(parts: list[str]) -> None:
    _check_contained("".join(parts))


def _check_contained(text: str) -> None:
    """Read as CommonMark reads it: what follows is outside of all code, and no HTML begins outside of code."""
    fence = ""
    for line in contained(text).splitlines():
        if line.startswith("> "):
            assert "<b" not in line
            assert "<!" not in line
            continue
        opens = line.lstrip(" ")[:3] in ("```", "~~~") and len(line) - len(line.lstrip(" ")) < 4
        if fence:
            bare = line.strip(" ")
            if opens and bare.startswith(fence) and not bare.strip(fence[0]):
                fence = ""
        elif opens and not (line[0] == "`" and "`" in line.lstrip("`")):
            fence = line[: len(line) - len(line.lstrip(line[0]))]
        else:
            assert not any(f"<{tag}" in line for tag in ("b", "!", "/", "s", "d"))
            assert not re.fullmatch(r" {0,3}(#{1,2}( .*)?|-+ *|=+ *)", line)
    assert fence == ""


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.text())
def test_letter_by_letter_means_that_nothing_ends_it(text: str) -> None:
    fence, _, rest = fenced(text).partition("text\n")
    assert rest.endswith(f"\n{fence}")
    assert fence not in rest[: -len(fence)]


def test_titles_are_one_line_without_markup() -> None:
    assert line_of("a\n# *b* <img>") == "a \\# \\*b\\* &lt;img>"
    assert quoted("a\n\n<b>") == "> a\n>\n> &lt;b>"


def test_a_name_with_quotes_breaks_no_header(asker: Person) -> None:
    session = conversation(asker, "Hello", name='a"b;c')
    disposition = exported(asker, session).headers["Content-Disposition"]
    assert disposition == 'attachment; filename="a b;c.json"'


def test_a_title_of_the_first_question_is_no_handle(asker: Person) -> None:
    session = conversation(asker, f"Roll {uuid.uuid4().hex}")
    document: dict[str, Any] = exported(asker, session).json()
    assert document["session"]["title"].startswith("Roll ")
