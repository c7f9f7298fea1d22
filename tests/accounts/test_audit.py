"""The audit log: it is shown to who may, found by who and what, exported, and never changed."""

import csv
import uuid
from collections.abc import Callable
from io import StringIO

from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.audit import DELETION, has_operated, record
from accounts.models import User
from tests.accounts.operators import browser_of, csv_of, staff, superuser, told_of

MakeUser = Callable[..., User]
LOG = "/admin/admin/logentry/"


def test_what_was_done_is_told_with_who_and_to_what(make_user: MakeUser) -> None:
    root, user = superuser(), make_user()
    assert not has_operated(root)

    record(by=root, object=user, message="Looked.")
    record(by=root, object=user, message="Went.", what=DELETION)
    whole = record(by=root, object=User, message="Exported.")

    assert told_of(user) == [(root.username, "Looked."), (root.username, "Went.")]
    assert (whole.object_id, whole.object_repr) == (None, "users")
    assert has_operated(root)


def test_the_log_is_filtered_searched_and_leads_to_the_object(make_user: MakeUser) -> None:
    root, other, user = superuser(), superuser(), make_user()
    record(by=root, object=user, message="Mine of today.")
    record(by=other, object=user, message="Theirs of today.")
    browser = browser_of(root)

    by_me = browser.get(LOG, {"user__id__exact": root.pk}).content.decode()
    assert "Mine of today." in by_me
    assert "Theirs of today." not in by_me
    assert f'href="/admin/accounts/user/{user.pk}/change/"' in by_me
    found = browser.get(LOG, {"q": other.username}).content.decode()
    assert "Theirs of today." in found
    assert "Mine of today." not in found
    assert "Mine of today." in browser.get(LOG, {"q": str(user.pk)}).content.decode()
    assert (
        "Mine of today."
        not in browser.get(LOG, {"user__id__exact": root.pk, "action_flag__exact": "3"}).content.decode()
    )


def test_nobody_changes_or_deletes_a_line() -> None:
    root = superuser()
    entry, browser = record(by=root, object=root, message="As it was."), browser_of(root)
    page = f"{LOG}{entry.pk}"

    assert "As it was." in browser.get(f"{page}/change/").content.decode()
    assert browser.post(f"{page}/change/", {"change_message": "Nothing."}).status_code == 403
    assert browser.post(f"{page}/delete/", {"post": "yes"}).status_code == 403
    assert browser.get(f"{LOG}add/").status_code == 403
    browser.post(LOG, {"action": "delete_selected", "_selected_action": [entry.pk], "post": "yes"})

    entry.refresh_from_db()
    assert entry.change_message == "As it was."


def test_it_is_for_who_may_see_it(make_user: MakeUser) -> None:
    assert browser_of(staff("admin.view_logentry")).get(LOG).status_code == 200
    assert browser_of(staff()).get(LOG).status_code == 403
    assert browser_of(make_user()).get(LOG).status_code == 302
    assert browser_of(None).get(LOG).status_code == 302


def test_it_asks_as_often_however_long_it_is_and_counts_nothing() -> None:
    root = superuser()
    browser = browser_of(root)

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(LOG, {"user__id__exact": root.pk}).status_code == 200
        return [each["sql"] for each in captured]

    record(by=root, object=root, message="One.")
    queries()
    few = queries()
    for number in range(5):
        record(by=root, object=root, message=f"Another: {number}.")

    assert len(queries()) == len(few)
    assert not any("COUNT(" in sql.upper() and "django_admin_log" in sql for sql in queries())


def test_it_is_exported_and_the_export_is_in_it() -> None:
    root, mark = superuser(), uuid.uuid4().hex
    record(by=root, object=root, message=f"Something {mark}.")

    answer = browser_of(root).post(f"{LOG}export/?user__id__exact={root.pk}")

    rows = list(csv.DictReader(StringIO(csv_of(answer))))
    assert [row["told"] for row in rows][-1] == f"Something {mark}."
    last = LogEntry.objects.filter(user=root).latest("pk")
    assert (last.change_message, last.content_type and last.content_type.model) == (
        f"Exported the list: user__id__exact={root.pk}.",
        "logentry",
    )
