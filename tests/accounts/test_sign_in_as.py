"""Operators act as somebody else: who may, what is told of it, what stays out of reach, and the way back."""

import time
from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import ApiKey, User
from accounts.sign_in_as import IN_SESSION
from tests.accounts.operators import ASKED, BACKEND, browser_of, staff, superuser, told_of

MakeUser = Callable[..., User]
NEEDED = ("accounts.view_user", "accounts.sign_in_as", "sessions_app.read_content")
REASON = {**ASKED, "reason": "ticket 42"}


@pytest.fixture
def clerk() -> User:
    return staff(*NEEDED)


def begin(browser: Client, user: User, **form: str) -> int:
    """The status of the answer."""
    return browser.post(f"/admin/accounts/user/{user.pk}/sign-in-as/", form or REASON).status_code


def is_signed_in_as(browser: Client, user: User) -> bool:
    return browser.session.get("_auth_user_id") == str(user.pk)


def test_an_operator_sees_the_site_as_somebody_else_and_goes_back(clerk: User, make_user: MakeUser) -> None:
    user, browser = make_user(), browser_of(clerk)
    before = browser.session.session_key

    asked = browser.get(f"/admin/accounts/user/{user.pk}/sign-in-as/").content.decode()
    assert "logged with yours" in asked
    assert is_signed_in_as(browser, clerk)
    assert begin(browser, user) == 302
    assert is_signed_in_as(browser, user)
    acting = browser.session.session_key
    shown = browser.get("/").content.decode()
    assert f"You ({clerk.username}) act as <strong>{user.username}</strong>." in shown
    back = browser.post("/acting/end")

    assert back["Location"] == f"/admin/accounts/user/{user.pk}/change/"
    assert is_signed_in_as(browser, clerk)
    assert IN_SESSION not in browser.session
    assert len({before, acting, browser.session.session_key}) == 3, "no key of a session outlives whose it was"
    assert "act as" not in browser.get("/").content.decode()
    assert told_of(user) == [
        (clerk.username, "Signed in as this user: ticket 42"),
        (clerk.username, "Went back from this user to their own account."),
    ]
    assert User.objects.get(pk=user.pk).last_login is None, "the person did not sign in"


@pytest.mark.parametrize("missing", [1, 2])
def test_who_lacks_a_permission_does_not(missing: int, make_user: MakeUser) -> None:
    few = staff(*(permission for number, permission in enumerate(NEEDED) if number != missing))
    browser, user = browser_of(few), make_user()

    assert begin(browser, user) == 403
    assert is_signed_in_as(browser, few)
    assert told_of(user) == []


def test_nobody_becomes_an_operator_but_superusers(clerk: User, make_user: MakeUser) -> None:
    colleague, root = staff(), superuser()
    for target in (colleague, root, clerk, make_user(is_active=False)):
        browser = browser_of(clerk)
        assert begin(browser, target) == 403
        assert is_signed_in_as(browser, clerk)
    browser = browser_of(root)
    assert begin(browser, colleague) == 302
    assert is_signed_in_as(browser, colleague)


def test_a_reason_is_needed_and_a_form_of_another_site_does_nothing(clerk: User, make_user: MakeUser) -> None:
    user, browser = make_user(), browser_of(clerk)

    assert begin(browser, user, **ASKED, reason="  ") == 200
    assert begin(browser, user, reason="ticket 42") == 200, "the first answer is the form"
    strict = browser_of(clerk, enforce_csrf_checks=True)
    assert begin(strict, user) == 403

    assert is_signed_in_as(browser, clerk)
    assert is_signed_in_as(strict, clerk)
    assert told_of(user) == []


def test_credentials_and_the_admin_stay_out_of_reach_meanwhile(make_user: MakeUser) -> None:
    user = staff("accounts.view_user")
    user.set_password("their own password")
    user.save()
    browser = browser_of(superuser())
    begin(browser, user)
    pages = ("/accounts/keys", "/accounts/email/", "/accounts/password/change/", "/account/delete", "/account/export")

    for path in (*pages, "/admin/", "/authorize", "/graphql", "/oauth"):
        assert browser.get(path).status_code in (403, 404), path
    assert browser.post("/accounts/keys", {"name": "mine now"}).status_code == 403
    assert browser.post("/accounts/email/", {"action_add": "", "email": "me@example.com"}).status_code == 403
    words = {"oldpassword": "their own password", "password1": "another one!", "password2": "another one!"}
    assert browser.post("/accounts/password/change/", words).status_code == 403
    document = {"query": "{ user { username } }"}
    assert browser.post("/graphql", document, content_type="application/json").status_code == 404

    assert not ApiKey.objects.filter(user=user).exists()
    assert User.objects.get(pk=user.pk).check_password("their own password")
    assert is_signed_in_as(browser, user)


def test_it_ends_after_an_hour_and_when_the_operator_may_no_more(clerk: User, make_user: MakeUser) -> None:
    user, browser = make_user(), browser_of(clerk)
    begin(browser, user)
    session = browser.session
    session[IN_SESSION] = {**session[IN_SESSION], "until": time.time() - 1}
    session.save()
    assert browser.get("/").status_code == 302
    assert is_signed_in_as(browser, clerk)

    begin(browser, user)
    clerk.user_permissions.clear()
    browser.get("/")
    assert is_signed_in_as(browser, clerk)

    clerk.user_permissions.set(staff(*NEEDED).user_permissions.all())
    begin(browser, user)
    User.objects.filter(pk=clerk.pk).update(is_active=False)
    browser.get("/")
    assert "_auth_user_id" not in browser.session


def test_signing_out_leads_back_and_the_button_twice_does_nothing(clerk: User, make_user: MakeUser) -> None:
    user, browser = make_user(), browser_of(clerk)
    begin(browser, user)

    browser.post("/accounts/logout/")
    assert is_signed_in_as(browser, clerk)
    assert browser.post("/acting/end")["Location"] == "/"
    assert is_signed_in_as(browser, clerk)
    assert browser.get("/acting/end").status_code == 405


def test_nobody_acts_as_a_third_from_somebody_elses_account(make_user: MakeUser) -> None:
    second, third = superuser(), make_user()
    browser = browser_of(superuser())
    begin(browser, second)

    assert begin(browser, third) == 403

    assert is_signed_in_as(browser, second)
    assert told_of(third) == []


def test_a_session_key_of_before_is_worth_nothing(clerk: User, make_user: MakeUser) -> None:
    user, browser, thief = make_user(), browser_of(clerk), Client()
    thief.cookies["sessionid"] = browser.session.session_key or ""
    begin(browser, user)
    assert not thief.session.get("_auth_user_id")
    thief.cookies["sessionid"] = browser.session.session_key or ""
    browser.post("/acting/end")
    assert not thief.session.get("_auth_user_id")
    assert browser.session["_auth_user_backend"] == BACKEND
