"""What sessions are called: how their first query begins, until a language model has a better title."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.sidebar.titles import TITLE_MAX, cleaned, short_title
from tests.llm_server import ScriptedModel, failure
from tests.sessions_app.cluster import Asker, Cluster
from tests.sessions_app.people import wait_until


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("roll three dice", "Roll three dice"),
        ("@fixie/dice roll three dice", "Roll three dice"),
        ("@dice please roll three dice, thanks!", "Roll three dice"),
        ("Hi! Could you please tell me the time?", "Tell me the time?"),
        ("Hallo, kannst du bitte würfeln?", "Würfeln?"),
        ("please", "Please"),
        ("# Notes\n\n- **first** `thing`\n- [a link](https://example.com)", "Notes first thing a link"),
        ("```python\nprint(1)\n```", "print(1)".capitalize()),
        ("ß is a letter", "ß is a letter"),
        ("  \n ", ""),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_names", "Snake_case_names"),
        ("hello there", "Hello there"),
        ("Hey, hello world", "Hello world"),
        ("hi please roll", "Roll"),
    ],
)
def test_a_query_becomes_a_short_title(text: str, title: str) -> None:
    assert short_title(text) == title


def test_a_long_query_is_cut_between_words() -> None:
    assert short_title("word " * 40) == f"Word {'word ' * 10}word…"
    assert short_title("x" * 200) == f"X{'x' * 58}…"
    assert short_title("漢" * 200) == f"{'漢' * 59}…"


@given(st.text())
def test_any_text_becomes_one_visible_line_that_is_not_too_long(text: str) -> None:
    title = short_title(text)
    assert len(title) <= TITLE_MAX
    assert "\n" not in title
    assert "\0" not in title
    assert title == title.strip()


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ('"Rolling dice."', "Rolling dice"),
        ("A: Rolling dice", "Rolling dice"),
        ("Title: **Rolling dice**\nBecause you asked.", "Rolling dice"),
        ("\n\n  Rolling dice  ", "Rolling dice"),
        ("„Würfeln“", "Würfeln"),
        ("...", ""),
        ("", ""),
    ],
)
def test_what_a_model_writes_is_cleaned(written: str, title: str) -> None:
    assert cleaned(written) == title


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="module")
def asker(cluster: Cluster, model: ScriptedModel) -> Iterator[Asker]:
    """Somebody at a site with a model, whose background work no other site does."""
    with cluster.process(LLM_BASE_URL=model.url, RUN_LEASE_SECONDS="15", SESSION_TITLES="1") as asker:
        yield asker


def title_of(asker: Asker, session: str) -> str:
    rows = asker.http.get("/api/sessions/recent").json()["items"]
    return next(str(row["title"]) for row in rows if row["handle"] == session)


def asked_for_titles(model: ScriptedModel) -> int:
    return sum("give conversations a title" in str(request) for request in model.requests)


def test_the_first_exchange_gives_a_session_its_title(asker: Asker, model: ScriptedModel) -> None:
    model.reset('A: "Rolling some dice."')
    session = asker.new_session("fixie/echo")
    asker.post(session, "roll three dice")
    assert wait_until(lambda: title_of(asker, session) == "Rolling some dice")
    assert "roll three dice" in str(model.requests[-1])
    [hit] = asker.http.get("/api/sessions/search", params={"q": "rolling"}).json()["items"]
    assert (hit["session"], hit["seq"]) == (session, None)
    asker.post(session, "and again")
    asker.story(session)
    assert asked_for_titles(model) == 1


def test_a_session_that_has_a_name_keeps_it_and_costs_nothing(asker: Asker, model: ScriptedModel) -> None:
    model.reset("A: Other dice")
    named, other = asker.new_session("fixie/echo"), asker.new_session("fixie/echo")
    asker.http.patch(f"/api/sessions/{named}", json={"name": "Mine"})
    asker.post(named, "roll three dice")
    asker.story(named)
    asker.post(other, "roll three dice")
    # Its job came later, and is done.
    assert wait_until(lambda: title_of(asker, other) == "Other dice")
    assert (title_of(asker, named), asked_for_titles(model)) == ("Mine", 1)


def test_where_the_model_fails_the_first_query_is_the_title(asker: Asker, model: ScriptedModel) -> None:
    model.reset(failure(400), "A: Good one")
    silent, other = asker.new_session("fixie/echo"), asker.new_session("fixie/echo")
    asker.post(silent, "roll three dice")
    wait_until(lambda: asked_for_titles(model) == 1)
    asker.post(other, "roll three dice")
    assert wait_until(lambda: title_of(asker, other) == "Good one")
    assert title_of(asker, silent) == "Roll three dice"
