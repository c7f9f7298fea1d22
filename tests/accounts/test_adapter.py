"""Signing up: names are free handles in lower case, whatever people type and however they come."""

import re
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from allauth.account.forms import SignupForm
from allauth.account.models import EmailAddress
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import get_adapter as get_social_adapter
from allauth.socialaccount.internal.flows.signup import process_signup
from allauth.socialaccount.models import SocialAccount, SocialLogin
from django.contrib.auth.models import AnonymousUser
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import connections
from django.http import HttpResponse
from django.test import Client, RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from accounts import adapter, names, organizations
from accounts.models import Organization, Owner, User
from common.handles import HANDLE

MakeUser = Callable[..., User]


def unused() -> str:
    return f"name-{uuid.uuid4().hex[:12]}"


def sign_up(username: str) -> Any:
    """Posts the form from an address of its own, so that limits a minute do not meet."""
    form = {"username": username, "email": f"{uuid.uuid4().hex}@example.com", "password1": "a fine password"}
    address = "10." + ".".join(str(byte) for byte in uuid.uuid4().bytes[:3])
    return Client(REMOTE_ADDR=address).post("/accounts/signup/", form)


def errors_of(response: Any) -> str:
    assert response.status_code == 200, "the form is shown again"
    return " ".join(response.context["form"].errors.get("username", []))


def test_whoever_signs_up_owns_the_name() -> None:
    name = unused()

    assert sign_up(name).status_code == 302

    user = User.objects.get(username=name)
    assert user.owner.handle == name


def test_a_name_is_kept_in_lower_case() -> None:
    name = unused()

    assert sign_up(name.upper()).status_code == 302

    assert User.objects.filter(username=name).exists()


@pytest.mark.parametrize("name", ["a b", "a.b", "-a", "a/b", "ä", "a@b", "x" * 51])
def test_a_name_that_is_no_handle_is_refused(name: str) -> None:
    assert errors_of(sign_up(name))


@pytest.mark.parametrize("name", ["fixie", "admin", "API", "agents", "sessions", "accounts", "static", "me", "user"])
def test_a_reserved_name_is_refused(name: str) -> None:
    assert errors_of(sign_up(name)) == "That name is reserved; please choose another."


def test_the_name_of_a_user_is_refused_in_any_case(make_user: MakeUser) -> None:
    user = make_user(f"Bob-{uuid.uuid4().hex[:8]}")

    assert errors_of(sign_up(user.username)) == "That name is taken."
    assert errors_of(sign_up(user.username.upper())) == "That name is taken."


def test_the_name_of_an_organization_is_refused() -> None:
    name = unused()
    organizations.save_organization(organization=Organization(name="Ours"), handle=name)

    assert errors_of(sign_up(name)) == "That name is taken."


def test_of_many_who_want_one_name_at_once_one_gets_it_and_the_others_choose_again() -> None:
    name = unused()
    together = threading.Barrier(4)

    def want(_: int) -> int:
        together.wait()
        try:
            return int(sign_up(name).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        statuses = list(threads.map(want, range(4)))

    assert set(statuses) <= {200, 302}
    assert User.objects.filter(username=name).count() == 1


def test_whoever_loses_the_race_for_a_name_is_sent_back_to_the_form(make_user: MakeUser) -> None:
    """The name is taken after the form has been checked and before the user is saved."""
    name = unused()
    form = signup_form(name)
    assert form.is_valid()
    make_user(name)
    request = browser_request()

    with pytest.raises(ImmediateHttpResponse) as sent_back:
        form.try_save(request)

    assert sent_back.value.response.status_code == 302
    assert sent_back.value.response.headers["Location"] == request.get_full_path()
    assert [str(message) for message in request._messages] == ["That name is taken. Please choose another."]


def signup_form(name: str) -> SignupForm:
    return SignupForm({"username": name, "email": f"{name}@example.com", "password1": "a fine password"})


def browser_request() -> Any:
    request: Any = RequestFactory().post("/accounts/signup/?next=/sessions")
    request.user = AnonymousUser()
    SessionMiddleware(lambda _: HttpResponse()).process_request(request)
    MessageMiddleware(lambda _: HttpResponse()).process_request(request)
    return request


# Through Google and GitHub


def newcomer(**data: str) -> SocialLogin:
    """Somebody of whom a provider says `data`, on the way to sign up."""
    account = SocialAccount(provider="github", uid=uuid.uuid4().hex)
    emails = [EmailAddress(email=data["email"], verified=True, primary=True)]
    login = SocialLogin(user=User(), account=account, email_addresses=emails)
    request = browser_request()
    get_social_adapter().populate_user(request, login, data)
    return login


def sign_up_through_provider(login: SocialLogin) -> User:
    request = browser_request()
    with context.request_context(request):
        process_signup(request, login)
    return User.objects.get(socialaccount=login.account)


def test_a_newcomer_from_github_keeps_the_name_of_there() -> None:
    name = unused()

    user = sign_up_through_provider(newcomer(username=name.upper(), email=f"{name}@example.com"))

    assert (user.username, user.owner.handle) == (name, name)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"first_name": "José Ángel"}, "jose-angel"),
        ({"first_name": "李", "last_name": "O'Neil"}, "o-neil"),
        ({"username": "admin"}, "j-r-r-doe"),
        ({"first_name": "Static"}, "static-"),
        ({"first_name": "李"}, "j-r-r-doe"),
    ],
)
def test_a_newcomer_without_a_usable_name_gets_one_near_what_they_are_called(
    data: dict[str, str], expected: str
) -> None:
    Owner.objects.filter(user=None, handle=expected).delete()

    user = sign_up_through_provider(newcomer(email=f"j.r.r.doe@{unused()}.example", **data))

    assert user.username.startswith(expected)
    assert HANDLE.fullmatch(user.username)


def test_newcomers_of_one_name_get_names_of_their_own() -> None:
    name = unused()
    logins = [newcomer(first_name=name, email=f"{unused()}@example.com") for _ in range(3)]
    organizations.save_organization(organization=Organization(name="Ours"), handle=name)

    names = {sign_up_through_provider(login).username for login in logins}

    assert len(names) == 3
    assert all(re.fullmatch(rf"{name}-[0-9a-f]{{4}}", each) for each in names)


def test_a_newcomer_whose_name_is_taken_meanwhile_gets_another(make_user: MakeUser) -> None:
    """The name is taken after it has been chosen and before the user is saved."""
    name = unused()
    login = newcomer(username=name, first_name=name, email=f"{unused()}@example.com")
    make_user(name)
    request = browser_request()

    with context.request_context(request):
        user = get_social_adapter().save_user(request, login)

    assert re.fullmatch(rf"{name}-[0-9a-f]{{4}}", user.username)
    assert SocialAccount.objects.get(user=user).uid == login.account.uid


@given(st.lists(st.none() | st.text(), max_size=4))
def test_whatever_people_are_called_they_get_a_free_handle(called: list[str | None]) -> None:
    name = adapter.AccountAdapter().generate_unique_username(called)

    assert HANDLE.fullmatch(name)
    assert name not in names.RESERVED
    assert not names.is_taken(name)
