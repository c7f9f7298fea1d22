"""What operators do about people, who of them may, and that every act is in the audit log."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import actions, organizations
from accounts.auth import Caller, user_of
from accounts.models import Organization, SigningKey, User
from common.errors import Unauthenticated
from tests.accounts.operators import ASKED, browser_of, staff, superuser, told_of

MakeUser = Callable[..., User]
USERS = "/admin/accounts/user/"


@pytest.fixture(scope="module")
def root() -> User:
    return superuser()


@pytest.fixture
def browser(root: User) -> Client:
    return browser_of(root)


def bulk(browser: Client, action: str, *users: User, **form: Any) -> Any:
    chosen = [user.pk for user in users]
    return browser.post(USERS, {"action": action, "_selected_action": chosen, **form})


def test_credits_are_granted_to_several_after_asking_how_many_and_why(
    browser: Client, root: User, make_user: MakeUser
) -> None:
    first, second = make_user(), make_user()

    asked = bulk(browser, "grant", first, second).content.decode()
    assert first.username in asked
    assert second.username in asked
    refused = bulk(browser, "grant", first, second, **ASKED, amount="many", reason="")
    assert refused.status_code == 200
    assert User.objects.get(pk=first.pk).credits == 0
    done = bulk(browser, "grant", first, second, **ASKED, amount="12", reason="a workshop")

    assert done.status_code == 302
    assert [User.objects.get(pk=user.pk).credits for user in (first, second)] == [12, 12]
    assert told_of(second) == [(root.username, "Credits: +12 (a workshop).")]


def test_limits_are_set_and_the_log_tells_what_they_were(browser: Client, root: User, make_user: MakeUser) -> None:
    user = make_user(daily_query_limit=5, daily_token_limit=7)

    bulk(browser, "limit", user, **ASKED, daily_query_limit="6", daily_token_limit="")

    user.refresh_from_db()
    assert (user.daily_query_limit, user.daily_token_limit) == (6, None)
    assert told_of(user) == [(root.username, "daily_query_limit: 5 → 6; daily_token_limit: 7 → none.")]


def test_whoever_is_deactivated_is_out_at_once_with_keys_and_browsers(
    browser: Client, root: User, make_user: MakeUser
) -> None:
    user = make_user()
    key, theirs = actions.create_api_key(user=user, name="mine").key, browser_of(user)
    assert theirs.get("/accounts/email/").status_code == 200

    assert "at once" in browser.get(f"{USERS}{user.pk}/deactivate/").content.decode()
    assert user_of(Caller(user.pk, key.jti)) == user, "a look at the page changes nothing"
    browser.post(f"{USERS}{user.pk}/deactivate/", ASKED)

    with pytest.raises(Unauthenticated):
        user_of(Caller(user.pk, key.jti))
    assert theirs.get("/accounts/email/").status_code == 302
    browser.post(f"{USERS}{user.pk}/activate/", ASKED)
    assert user_of(Caller(user.pk, key.jti)) == user
    assert told_of(user) == [(root.username, "Deactivated."), (root.username, "Activated.")]


def test_nobody_locks_themselves_out(browser: Client, root: User) -> None:
    answer = bulk(browser, "deactivate", root, **ASKED)

    assert "You cannot switch off your own account." in browser.get(answer["Location"]).content.decode()
    assert User.objects.get(pk=root.pk).is_active


def test_some_or_all_keys_of_a_user_are_revoked(browser: Client, root: User, make_user: MakeUser) -> None:
    user = make_user()
    keys = [actions.create_api_key(user=user, name=name).key for name in ("laptop", "server", "phone")]

    shown = browser.get(f"{USERS}{user.pk}/keys/").content.decode()
    assert "laptop" in shown
    browser.post(f"{USERS}{user.pk}/keys/", {**ASKED, "keys": [keys[1].pk]})
    assert set(user.api_keys.filter(revoked=None)) == {keys[0], keys[2]}
    bulk(browser, "revoke", user, **ASKED)

    assert not user.api_keys.filter(revoked=None).exists()
    assert (root.username, f"Revoked the API key {keys[1].pk} (server).") in told_of(user)


def test_a_key_of_somebody_else_is_not_revoked_on_the_page_of_a_user(browser: Client, make_user: MakeUser) -> None:
    user, key = make_user(), actions.create_api_key(user=make_user(), name="theirs").key

    assert browser.post(f"{USERS}{user.pk}/keys/", {**ASKED, "keys": [key.pk]}).status_code == 200

    key.refresh_from_db()
    assert key.revoked is None


@pytest.mark.parametrize(
    ("page", "action", "form"),
    [
        ("deactivate", "deactivate", {}),
        ("limit", "limit", {"daily_query_limit": "1"}),
        ("grant", "grant", {"amount": "5", "reason": "x"}),
        ("keys", "revoke", {}),
        ("sign-in-as", "sign_in_as", {"reason": "x"}),
    ],
)
def test_staff_who_may_only_look_do_nothing_and_guests_get_nowhere(
    page: str, action: str, form: dict[str, str], make_user: MakeUser
) -> None:
    user = make_user()
    actions.create_api_key(user=user, name="mine")
    before = User.objects.filter(pk=user.pk).values().get()

    for client, status in (
        (browser_of(staff("accounts.view_user")), 403),
        (browser_of(staff()), 403),
        (browser_of(make_user()), 302),
        (browser_of(None), 302),
    ):
        assert client.post(f"{USERS}{user.pk}/{page}/", {**ASKED, **form}).status_code == status
        client.post(USERS, {"action": action, "_selected_action": [user.pk], **ASKED, **form})

    assert User.objects.filter(pk=user.pk).values().get() == before
    assert user.api_keys.filter(revoked=None).count() == 1
    assert told_of(user) == []


def test_staff_change_people_but_neither_operators_nor_who_is_one(make_user: MakeUser) -> None:
    clerk, user, colleague = staff("accounts.change_user", "accounts.view_user"), make_user(), staff()
    browser = browser_of(clerk)

    assert browser.post(f"{USERS}{user.pk}/deactivate/", ASKED).status_code == 302
    assert not User.objects.get(pk=user.pk).is_active
    bulk(browser, "deactivate", colleague, superuser(), **ASKED)
    assert User.objects.get(pk=colleague.pk).is_active
    assert browser.post(f"{USERS}{colleague.pk}/password/", {}).status_code == 403
    form = {
        "username": user.username,
        "is_active": "on",
        "daily_query_limit": 9,
        "is_staff": "on",
        "is_superuser": "on",
    }
    assert browser.post(f"{USERS}{user.pk}/change/", form).status_code == 302
    user.refresh_from_db()
    assert (user.daily_query_limit, user.is_staff, user.is_superuser) == (9, False, False)


def test_the_page_of_a_user_shows_keys_sign_ins_organizations_and_what_is_kept(
    browser: Client, make_user: MakeUser
) -> None:
    user = make_user()
    actions.create_api_key(user=user, name="for the laptop")
    circle = organizations.create_organization(by=user, handle=f"o-{uuid.uuid4().hex[:8]}", name="Circle")
    user.emailaddress_set.create(email=user.email, verified=True, primary=True)

    shown = browser.get(f"{USERS}{user.pk}/change/").content.decode()

    for words in (
        "for the laptop",
        circle.owner.handle,
        f"{user.email} \N{EN DASH} confirmed",
        "Attachments",
        "User Storage",
    ):
        assert words in shown


def test_people_are_found_by_the_beginning_of_a_name_or_an_address(browser: Client, make_user: MakeUser) -> None:
    user = make_user()

    for words in (user.username.upper()[:-1], user.email[:-2].upper()):
        assert user.username in browser.get(USERS, {"q": words}).content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")
        cursor.execute("EXPLAIN SELECT 1 FROM accounts_user WHERE UPPER(username::text) LIKE UPPER('ab%')")
        plan = str(cursor.fetchall())
        cursor.execute("RESET enable_seqscan")
    assert "people_by_username" in plan


def test_an_operator_whom_the_audit_log_names_is_not_deleted(browser: Client, make_user: MakeUser) -> None:
    clerk, user = staff("accounts.change_user"), make_user()
    browser_of(clerk).post(f"{USERS}{user.pk}/deactivate/", ASKED)

    answer = browser.post(f"{USERS}{clerk.pk}/delete/", {"post": "yes"}, follow=True)

    assert "The audit log names this administrator" in answer.content.decode()
    assert User.objects.get(pk=clerk.pk).is_active


def test_signing_keys_are_rotated_by_who_may_and_it_is_told(browser: Client, root: User) -> None:
    rotate = "/admin/accounts/signingkey/rotate/"
    before = SigningKey.objects.get(state="active")
    looker = browser_of(staff("accounts.view_signingkey"))
    assert looker.get("/admin/accounts/signingkey/").status_code == 200
    assert looker.post(rotate, ASKED).status_code == 403
    assert "a new next one is published" in browser.get(rotate).content.decode()
    assert SigningKey.objects.get(state="active") == before

    assert browser.post(rotate, ASKED).status_code == 302

    now = SigningKey.objects.get(state="active")
    assert now != before
    assert told_of(now) == [(root.username, "Rotated: this key signs from now on.")]


def test_a_list_of_organizations_asks_as_often_however_long_it_is(browser: Client, make_user: MakeUser) -> None:
    prefix = f"o-{uuid.uuid4().hex[:8]}"

    def add() -> None:
        organizations.create_organization(
            by=make_user(), handle=f"{prefix}-{Organization.objects.count()}", name="Ours"
        )

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert browser.get("/admin/accounts/organization/", {"q": prefix}).status_code == 200
        return len(captured)

    add()
    queries()
    few = queries()
    for _ in range(4):
        add()
    assert queries() == few
