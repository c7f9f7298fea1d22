"""The page of a user's API keys: made, listed, revoked; by nobody else."""

import html
import re
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import actions, tokens

if TYPE_CHECKING:
    from accounts.models import ApiKey, User

MakeUser = Callable[..., "User"]
BrowserOf = Callable[..., Client]


def new_key(user: "User", name: str = "mine") -> "ApiKey":
    return actions.create_api_key(user=user, name=name).key


def shown_token(page: bytes) -> str:
    found = re.search(r'<pre class="code" id="new-key"[^>]*>(.*?)</pre>', page.decode())
    assert found
    return html.unescape(found[1])


def test_a_new_key_is_shown_once_with_an_example(user: "User", browser: Client) -> None:
    made = browser.post("/accounts/keys", {"name": " My laptop "}, follow=True)

    token = shown_token(made.content)
    key = user.api_keys.get()
    assert made.status_code == 200
    assert "no-store" in made["Cache-Control"]
    assert (key.name, tokens.verify_api_key(token).jti) == ("My laptop", key.jti)
    assert f"FIXIE_API_URL={settings.SITE_URL} FIXIE_API_KEY={token} fixie user" in made.content.decode()
    later = browser.get("/accounts/keys").content.decode()
    assert "My laptop" in later
    assert token.rpartition(".")[2] not in later


def test_a_form_sent_twice_makes_one_key_which_is_shown_once(user: "User", browser: Client) -> None:
    sent = {"name": "twice", "form": str(uuid.uuid4())}
    browser.post("/accounts/keys", sent)
    browser.post("/accounts/keys", sent)

    shown = browser.get("/accounts/keys").content
    assert tokens.verify_api_key(shown_token(shown)).jti == user.api_keys.get().jti
    assert b"new-key" not in browser.get("/accounts/keys").content
    again = browser.post("/accounts/keys", sent, follow=True)
    assert b"new-key" not in again.content
    assert user.api_keys.count() == 1


def test_the_form_of_somebody_else_makes_a_key_of_ones_own(
    user: "User", browser: Client, make_user: MakeUser, browser_of: BrowserOf
) -> None:
    sent, other = {"name": "mine", "form": str(uuid.uuid4())}, make_user()

    browser.post("/accounts/keys", sent)
    browser_of(other).post("/accounts/keys", sent)

    assert user.api_keys.get().jti != other.api_keys.get().jti


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\x00b", "a\nb"])
def test_a_key_with_an_impossible_name_is_refused_beside_the_field(user: "User", browser: Client, name: str) -> None:
    refused = browser.post("/accounts/keys", {"name": name})

    assert refused.status_code == 400
    assert 'class="errorlist"' in refused.content.decode()
    assert not user.api_keys.exists()


def test_nobody_has_more_than_the_most_keys(user: "User", browser: Client) -> None:
    keys = [new_key(user, f"Number {number}") for number in range(settings.API_KEYS_MAX)]

    assert browser.post("/accounts/keys", {"name": "one more"}).status_code == 400
    assert user.api_keys.count() == settings.API_KEYS_MAX
    browser.post(f"/accounts/keys/{keys[0].pk}/revoke")
    assert browser.post("/accounts/keys", {"name": "one more"}).status_code == 302


def test_the_list_tells_when_a_key_was_used_and_which_are_revoked(user: "User", browser: Client) -> None:
    used, _, revoked = (new_key(user, name) for name in ("used", "never", "gone"))
    user.api_keys.filter(pk=used.pk).update(last_used=timezone.now())
    actions.revoke_api_key(key=revoked, by=user)

    page = browser.get("/accounts/keys").content.decode()

    live, _, past = page.partition("Revoked keys")
    assert re.search(r"used</span>.*?last used <time", live, re.DOTALL)
    assert re.search(r"never</span>.*?never used", live, re.DOTALL)
    assert "gone" not in live
    assert "gone" in past


def test_names_are_text(user: "User", browser: Client) -> None:
    new_key(user, "<script>alert(1)</script>")

    assert "<script>alert(1)" not in browser.get("/accounts/keys").content.decode()


def test_revoking_asks_first(user: "User", browser: Client) -> None:
    key = new_key(user)

    asked = browser.get(f"/accounts/keys/{key.pk}/revoke")

    assert "Revoke this key?" in asked.content.decode()
    key.refresh_from_db()
    assert key.revoked is None
    done = browser.post(f"/accounts/keys/{key.pk}/revoke", follow=True)
    assert "Revoked “mine”" in done.content.decode()
    key.refresh_from_db()
    assert key.revoked is not None
    assert "It no longer opens anything" in browser.get(f"/accounts/keys/{key.pk}/revoke").content.decode()


@pytest.mark.parametrize("method", ["get", "post"])
def test_somebody_elses_key_is_not_there(make_user: MakeUser, user: "User", browser_of: BrowserOf, method: str) -> None:
    key = new_key(user, "private name")
    administrator = make_user(is_staff=True, is_superuser=True)

    for browser in (browser_of(make_user()), browser_of(administrator)):
        answer = getattr(browser, method)(f"/accounts/keys/{key.pk}/revoke")
        assert answer.status_code == 404
        assert "private name" not in answer.content.decode() + browser.get("/accounts/keys").content.decode()
    key.refresh_from_db()
    assert key.revoked is None


@pytest.mark.parametrize("key", ["0", "9" * 30, "9" * 5000, "x"])
def test_a_key_that_cannot_exist_is_not_there(browser: Client, key: str) -> None:
    assert browser.post(f"/accounts/keys/{key}/revoke").status_code == 404


def test_who_is_signed_out_is_asked_to_sign_in(user: "User") -> None:
    key = new_key(user)

    for path in ("/accounts/keys", f"/accounts/keys/{key.pk}/revoke"):
        for method in ("get", "post"):
            answer = getattr(Client(), method)(path)
            assert answer["Location"] == f"/accounts/login/?next={path}"
    key.refresh_from_db()
    assert key.revoked is None
    assert user.api_keys.count() == 1


def test_another_site_can_neither_make_nor_revoke_keys(user: "User", browser_of: BrowserOf) -> None:
    key, browser = new_key(user), browser_of(user, enforce_csrf_checks=True)

    assert browser.post("/accounts/keys", {"name": "x"}).status_code == 403
    assert browser.post(f"/accounts/keys/{key.pk}/revoke").status_code == 403
    assert list(user.api_keys.values_list("revoked")) == [(None,)]


def test_a_longer_list_takes_no_more_queries(user: "User", browser: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            browser.get("/accounts/keys")
        return len(captured)

    new_key(user)
    before = queries()
    for number in range(5):
        actions.revoke_api_key(key=new_key(user, f"{number}"), by=user)
        new_key(user)

    assert queries() == before


def test_the_package_sends_people_to_the_page_for_a_key(browser: Client) -> None:
    assert browser.get("/profile")["Location"] == "/accounts/keys"
