"""What was said is read by those who may, who say why, and that is noted."""

from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import User
from sessions_app.models import Message, Session
from tests.sessions_app.operators import RUNS, SECRET, SESSIONS, Operator, allowed, run_of
from tests.sites import Site

MakeUser = Callable[..., User]


def readers(site: Site, told: Session, make_user: MakeUser) -> dict[str, Operator]:
    """Everybody who may not read what was said, and what they may."""
    return {
        "anonymous": Operator(site, None),
        "its owner": Operator(site, told.owner),
        "staff": Operator(site, allowed(make_user())),
        "staff that sees sessions": Operator(site, allowed(make_user(), "sessions_app.view_session")),
        "staff that may only read": Operator(site, allowed(make_user(), "sessions_app.read_content")),
    }


def test_nobody_reads_what_was_said_without_the_permission(site: Site, told: Session, make_user: MakeUser) -> None:
    run = run_of(told)
    for who, reader in readers(site, told, make_user).items():
        for path in (f"{SESSIONS}{told.pk}/content/", f"{RUNS}{run.pk}/content/"):
            answer = reader.do(path, reason="curiosity")
            assert answer.status_code in (302, 403), (who, path)
            assert SECRET not in answer.text, (who, path)
        assert reader.noted(told.pk) == [], who


@pytest.mark.parametrize("whose", ["somebody's", "their own"])
def test_who_may_read_says_why_each_time_and_it_is_noted(told: Session, operator: Any, site: Site, whose: str) -> None:
    permissions = ["sessions_app.view_session", "sessions_app.view_run", "sessions_app.read_content"]
    reader = operator(*permissions) if whose == "somebody's" else Operator(site, allowed(told.owner, *permissions))
    run = run_of(told)
    for path in (f"{SESSIONS}{told.pk}/content/", f"{RUNS}{run.pk}/content/"):
        assert SECRET not in reader.page(path), "asked first"
        assert SECRET not in reader.do(path, reason=" ").text, "no reason, no text"
        opened = reader.do(path, reason="ticket 17")
        assert opened.status_code == 200
        assert SECRET in opened.text
        assert "no-store" in opened.headers["cache-control"]
        assert SECRET not in reader.page(path), "shown once"

    messages, of_run = reader.noted(told.pk)
    assert messages == "Read messages 1 to 2. Reason: ticket 17"
    assert of_run == f"Read run {run.pk}. Reason: ticket 17"


def test_what_was_said_long_ago_is_read_page_by_page(told: Session, root: Operator) -> None:
    run = run_of(told)
    Message.objects.bulk_create(
        Message(session=told, run=run, seq=seq, kind="thought", text=f"thought {seq}.") for seq in range(3, 261)
    )
    newest = root.do(f"{SESSIONS}{told.pk}/content/", reason="why").text
    older = root.do(f"{SESSIONS}{told.pk}/content/", reason="why", before="61").text

    assert "thought 61." in newest
    assert "thought 60." not in newest
    assert "thought 60." in older
    assert SECRET in older
    assert root.noted(told.pk) == ["Read messages 61 to 260. Reason: why", "Read messages 1 to 60. Reason: why"]
