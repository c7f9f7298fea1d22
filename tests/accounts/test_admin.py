"""The administrator's pages of accounts: they open, they save, they tell no secrets, and do not query in loops."""

import base64
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import actions, organizations
from accounts.keyring import keyring
from accounts.models import ApiKey, Organization, SigningKey, UsageDay, User

MakeUser = Callable[..., User]


@pytest.fixture(scope="module")
def administrator() -> User:
    return User.objects.create_superuser(f"root-{uuid.uuid4().hex[:8]}", "root@example.com", "a password of ours")


@pytest.fixture
def browser(administrator: User) -> Client:
    client = Client()
    client.force_login(administrator, backend="django.contrib.auth.backends.ModelBackend")
    return client


def page(browser: Client, path: str) -> str:
    response = browser.get(f"/admin/accounts/{path}")
    assert response.status_code == 200, path
    return response.content.decode()


def form_errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200, "the form is shown again"
    errors: dict[str, list[str]] = response.context["adminform"].form.errors
    return errors


@pytest.mark.parametrize("model", ["user", "organization", "apikey", "signingkey", "usageday"])
def test_somebody_who_is_no_administrator_sees_nothing(model: str, make_user: MakeUser) -> None:
    client = Client()
    client.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")

    assert client.get(f"/admin/accounts/{model}/").status_code == 302


def test_the_list_of_users_shows_what_they_have_used_today(browser: Client, make_user: MakeUser) -> None:
    user = make_user(daily_query_limit=4321)
    UsageDay.objects.create(user=user, agent=None, day=datetime.now(UTC).date(), queries=1234)

    listed = page(browser, f"user/?q={user.username}")

    assert "4321" in listed
    assert "1234" in listed


def test_an_administrator_changes_a_users_limit(browser: Client, make_user: MakeUser) -> None:
    user = make_user()

    response = browser.post(f"/admin/accounts/user/{user.pk}/change/", user_form(user, daily_query_limit=7))

    assert response.status_code == 302
    assert User.objects.get(pk=user.pk).daily_query_limit == 7


def user_form(user: User, **changes: Any) -> dict[str, Any]:
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    form = {"username": user.username, "is_active": "on", "daily_query_limit": user.daily_query_limit}
    return {**form, **joined, **changes}


def test_a_user_cannot_be_renamed_to_a_name_in_use(browser: Client, make_user: MakeUser) -> None:
    user, name = make_user(), f"org-{uuid.uuid4().hex[:8]}"
    organizations.save_organization(organization=Organization(name="Ours"), handle=name)

    response = browser.post(f"/admin/accounts/user/{user.pk}/change/", user_form(user, username=name.upper()))

    assert form_errors(response)["username"] == ["That name is taken."]


def test_an_administrator_adds_a_user(browser: Client) -> None:
    name = f"new-{uuid.uuid4().hex[:8]}"
    form = {"username": name, "usable_password": "true", "password1": "a fine password", "password2": "a fine password"}

    assert browser.post("/admin/accounts/user/add/", form).status_code == 302

    assert User.objects.get(username=name).owner.handle == name


def organization_form(handle: str, *members: User, role: str = "admin") -> dict[str, Any]:
    inline = {"membership_set-TOTAL_FORMS": len(members), "membership_set-INITIAL_FORMS": 0}
    people = {f"membership_set-{number}-user": member.pk for number, member in enumerate(members)}
    roles = {f"membership_set-{number}-role": role for number in range(len(members))}
    return {"handle": handle, "name": "Ours", **inline, **people, **roles}


def test_an_administrator_makes_and_renames_an_organization(browser: Client, make_user: MakeUser) -> None:
    first, second, member = f"o-{uuid.uuid4().hex[:8]}", f"o-{uuid.uuid4().hex[:8]}", make_user()

    assert browser.post("/admin/accounts/organization/add/", organization_form(first, member)).status_code == 302
    made = Organization.objects.get(owner__handle=first)
    path = f"/admin/accounts/organization/{made.pk}/change/"
    assert f'value="{first}"' in browser.get(path).content.decode()
    assert browser.post(path, organization_form(second)).status_code == 302

    made.refresh_from_db()
    assert made.owner.handle == second
    assert list(made.members.all()) == [member]


def test_an_organization_with_members_has_an_admin(browser: Client, make_user: MakeUser) -> None:
    handle, form = f"o-{uuid.uuid4().hex[:8]}", "/admin/accounts/organization/add/"

    refused = browser.post(form, organization_form(handle, make_user(), make_user(), role="member"))

    assert "One of the members must be an admin." in refused.content.decode()
    assert not Organization.objects.filter(owner__handle=handle).exists()


def test_an_organization_cannot_have_the_name_of_a_user(browser: Client, make_user: MakeUser) -> None:
    response = browser.post("/admin/accounts/organization/add/", organization_form(make_user().username.upper()))

    assert form_errors(response)["handle"] == ["That name is taken."]


def test_keys_are_revoked_from_the_list_and_cannot_be_read(browser: Client, make_user: MakeUser) -> None:
    new = actions.create_api_key(user=make_user(), name="mine")
    shown = page(browser, f"apikey/?q={new.key.user.username}") + page(browser, f"apikey/{new.key.pk}/change/")
    assert not any(part in shown for part in new.token.split("."))

    chosen = {"action": "revoke", "_selected_action": [new.key.pk]}
    assert "This cannot be undone." in browser.post("/admin/accounts/apikey/", chosen).content.decode()
    assert ApiKey.objects.get(pk=new.key.pk).revoked is None
    browser.post("/admin/accounts/apikey/", {**chosen, "asked": "1"})

    assert ApiKey.objects.get(pk=new.key.pk).revoked is not None


def test_keys_can_neither_be_added_nor_changed(browser: Client, make_user: MakeUser) -> None:
    key = actions.create_api_key(user=make_user(), name="mine").key

    assert browser.get("/admin/accounts/apikey/add/").status_code == 403
    assert browser.post(f"/admin/accounts/apikey/{key.pk}/change/", {"name": "theirs"}).status_code == 403
    key.refresh_from_db()
    assert key.name == "mine"


def test_signing_keys_are_shown_without_their_private_halves(browser: Client) -> None:
    kid = keyring.current().signer.kid
    sealed = bytes(SigningKey.objects.get(pk=kid).private_key)

    shown = page(browser, "signingkey/") + page(browser, f"signingkey/{kid}/change/")

    assert kid in shown
    assert sealed.decode() not in shown
    assert base64.b64encode(sealed).decode() not in shown
    assert browser.post(f"/admin/accounts/signingkey/{kid}/delete/", {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", ["user", "organization", "apikey", "usageday"])
def test_a_longer_list_takes_no_more_queries(model: str, browser: Client, make_user: MakeUser) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(browser, f"{model}/")
        return len(captured)

    populate(make_user())
    queries()
    before = queries()
    assert before > 1
    for _ in range(3):
        populate(make_user())

    assert queries() == before


def populate(user: User) -> None:
    actions.create_api_key(user=user, name="mine")
    UsageDay.objects.create(user=user, agent=None, day=datetime.now(UTC).date(), queries=1)
    organizations.save_organization(organization=Organization(name="Ours"), handle=f"o-{user.username}")
