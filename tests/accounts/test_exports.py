"""Lists as CSV: what the filters show, nothing that a spreadsheet computes, only for who may see it, and noted."""

import csv
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from accounts import exports
from accounts.actions import grant_credits
from accounts.exports import line_of
from accounts.models import CreditEntry, UsageDay, User
from tests.accounts.operators import browser_of, csv_of, staff, superuser

MakeUser = Callable[..., User]
LISTS = ("accounts/user", "accounts/organization", "accounts/creditentry", "accounts/usageday", "registry/agent")


def rows_of(answer: Any) -> list[dict[str, str]]:
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(StringIO(csv_of(answer))))


@pytest.mark.parametrize("path", [*LISTS, "admin/logentry"])
def test_a_list_is_exported(path: str) -> None:
    answer = browser_of(superuser()).post(f"/admin/{path}/export/")

    assert len(next(csv.reader(StringIO(csv_of(answer))))) > 3
    assert answer["Content-Disposition"] == f'attachment; filename="{path.split("/")[1]}.csv"'


def test_an_export_holds_what_the_filters_show_in_however_many_parts(
    make_user: MakeUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "ROWS_AT_ONCE", 2)
    name, root = f"many-{uuid.uuid4().hex[:8]}", superuser()
    people = [make_user(f"{name}-{number}", is_active=number != 3) for number in range(6)]
    UsageDay.objects.create(user=people[5], agent=None, day=datetime.now(UTC).date(), queries=17)

    rows = rows_of(browser_of(root).post(f"/admin/accounts/user/export/?q={name}&is_active__exact=1"))

    assert [row["username"] for row in rows] == [f"{name}-{number}" for number in (5, 4, 2, 1, 0)]
    assert (rows[0]["used_today"], rows[0]["is_active"]) == ("17", "yes")
    entry = LogEntry.objects.filter(user=root).latest("pk")
    assert entry.change_message == f"Exported the list: q={name}&is_active__exact=1."


def test_the_chosen_rows_are_exported(make_user: MakeUser) -> None:
    first, second = make_user(), make_user()
    chosen = {"action": "export_chosen", "_selected_action": [first.pk, second.pk]}

    rows = rows_of(browser_of(superuser()).post("/admin/accounts/user/", chosen))

    assert [row["username"] for row in rows] == [second.username, first.username]


def test_no_cell_is_a_formula(make_user: MakeUser) -> None:
    root, user = superuser(), make_user()
    grant_credits(user=user, amount=3, reason='=HYPERLINK("http://evil.example","x")', by=root)
    grant_credits(user=user, amount=-1, reason="two\nlines".replace("\n", ", "), by=root)

    rows = rows_of(browser_of(root).post(f"/admin/accounts/creditentry/export/?user__id__exact={user.pk}"))

    assert [row["reason"] for row in rows] == ["two, lines", '\'=HYPERLINK("http://evil.example","x")']
    assert [row["amount"] for row in rows] == ["-1", "3"], "numbers stay numbers"
    assert CreditEntry.objects.filter(user=user).count() == 2
    assert line_of(["+1", "-1", "@SUM", "\tx", None, True, 1.5]) == "'+1,'-1,'@SUM,'\tx,,yes,1.5\r\n"


@pytest.mark.parametrize("path", LISTS)
def test_an_export_is_for_who_may_see_the_list(path: str, make_user: MakeUser) -> None:
    app, model = path.split("/")
    visitors: list[tuple[Client, int]] = [
        (browser_of(staff(f"{app}.view_{model}")), 200),
        (browser_of(staff()), 403),
        (browser_of(make_user()), 302),
        (browser_of(None), 302),
    ]
    for client, status in visitors:
        assert client.post(f"/admin/{path}/export/").status_code == status
    strict = browser_of(superuser(), enforce_csrf_checks=True)
    assert strict.post(f"/admin/{path}/export/").status_code == 403


def test_looking_at_the_address_exports_nothing() -> None:
    root = superuser()

    answer = browser_of(root).get("/admin/accounts/user/export/")

    assert answer["Location"] == "/admin/accounts/user/"
    assert not LogEntry.objects.filter(user=root).exists()
