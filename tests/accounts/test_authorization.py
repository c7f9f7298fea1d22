"""Programs that sign in through the browser: the published command line's own requests, and everybody else's."""

import threading
import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.utils import timezone

from tests.accounts.conftest import CLI, Program
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

BrowserOf = Callable[..., Client]


@pytest.fixture
def other_program(site: Site) -> Program:
    """A program that an administrator added, without a port in its way back."""
    from oauth2_provider.models import Application

    client_id = f"other-{uuid.uuid4().hex}"
    Application.objects.create(
        client_id=client_id,
        name="Other",
        client_type=Application.CLIENT_PUBLIC,
        client_secret="",
        hash_client_secret=False,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris="https://other.example.com/back",
    )
    return Program(site, client_id=client_id, back="https://other.example.com/back", pkce=True)


def keys_of(user: "User") -> list[str]:
    return list(user.api_keys.filter(revoked=None).values_list("name", flat=True))


def error_in(response: Any) -> dict[str, str]:
    """The parameters of the redirect with which a program is told no."""
    assert response.status_code == 302, response.content.decode()
    return {name: values[0] for name, values in parse_qs(urlsplit(response["Location"]).query).items()}


def calls(site: Site, key: str) -> int:
    with site.client(key) as http:
        return http.get("/api/sessions").status_code


def test_the_command_line_gets_an_api_key_that_opens_the_api(
    site: Site, user: "User", browser: Client, program: Program
) -> None:
    answer = program.exchange(program.code(browser))

    assert answer.status_code == 200
    assert "no-store" in answer.headers["cache-control"]
    document = answer.json()
    assert document == {"access_token": document["access_token"], "token_type": "Bearer", "scope": "api-access"}
    assert calls(site, document["access_token"]) == 200
    assert keys_of(user) == [f"Fixie command line, {timezone.now():%-d %B %Y}"]


def test_a_revoked_sign_in_is_refused_at_once(site: Site, user: "User", browser: Client, program: Program) -> None:
    token = program.exchange(program.code(browser)).json()["access_token"]
    key = user.api_keys.get()

    assert browser.post(f"/accounts/keys/{key.pk}/revoke").status_code == 302

    assert calls(site, token) == 401


def test_nothing_that_opens_the_api_is_stored(browser: Client, program: Program) -> None:
    token = program.exchange(program.code(browser)).json()["access_token"]

    with connection.cursor() as cursor:
        for table in ("accesstoken", "refreshtoken", "grant", "idtoken"):
            cursor.execute(
                f"SELECT count(*) FROM oauth2_provider_{table} t WHERE t::text LIKE %s", [f"%{token[-40:]}%"]
            )
            assert cursor.fetchone() == (0,)


def test_the_question_says_who_asks_for_what_and_as_whom(user: "User", browser: Client, program: Program) -> None:
    answer = browser.get(program.address())

    page = answer.content.decode()
    assert answer.status_code == 200
    assert "Fixie command line" in page
    assert f"signed in as <strong>{user.username}</strong>" in page
    assert "http://localhost:49152" in page
    assert answer["X-Frame-Options"] == "DENY"
    assert "no-store" in answer["Cache-Control"]
    assert keys_of(user) == []


def test_who_is_signed_out_signs_in_first_and_comes_back_to_the_question(program: Program) -> None:
    answer = Client().get(program.address())

    assert answer.status_code == 302
    place = urlsplit(answer["Location"])
    assert place.path == "/accounts/login/"
    assert parse_qs(place.query)["next"] == [program.address()]


def test_another_site_cannot_answer_for_the_user(user: "User", browser_of: BrowserOf, program: Program) -> None:
    browser = browser_of(user, enforce_csrf_checks=True)

    assert browser.post(program.address(), {"allow": "yes"}).status_code == 403


def test_cancelling_tells_the_program_and_makes_no_key(user: "User", browser: Client, program: Program) -> None:
    back = browser.post(program.address())

    assert back["Location"].startswith("http://localhost:49152?")
    assert error_in(back) == {"error": "access_denied", "state": program.state}
    assert keys_of(user) == []


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize(
    "changes",
    [
        {"client_id": "nobody"},
        {"client_id": None},
        {"client_id": "null\x00byte"},
        {"redirect_uri": "https://evil.example.com/"},
        {"redirect_uri": "http://localhost.evil.example.com:49152"},
        {"redirect_uri": "http://localhost:49152@evil.example.com"},
        {"redirect_uri": "http://localhost:49152/elsewhere"},
        {"redirect_uri": "https://localhost:49152"},
        {"redirect_uri": "http://localhost:49152#part"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": None},
    ],
)
def test_an_unknown_program_or_way_back_gets_a_page_and_no_redirect(
    user: "User", browser: Client, program: Program, method: str, changes: dict[str, str | None]
) -> None:
    answer = getattr(browser, method)(program.address(**changes))

    assert answer.status_code == 400
    assert "This program cannot be let in" in answer.content.decode()
    assert keys_of(user) == []


@pytest.mark.parametrize("back", ["http://localhost:1", "http://localhost:65535", "http://127.0.0.1:8765"])
def test_any_port_of_the_users_own_computer_is_a_way_back(browser: Client, site: Site, back: str) -> None:
    program = Program(site, back=back)

    assert program.exchange(program.code(browser)).status_code == 200


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "invalid_request"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"code_challenge": "plain-text", "code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "x" * 43}, "invalid_request"),
        ({"code_challenge": "x" * 4000, "code_challenge_method": "S256"}, "invalid_request"),
    ],
)
def test_a_wrong_question_goes_back_to_the_program(
    user: "User", browser: Client, program: Program, changes: dict[str, str | None], error: str
) -> None:
    told = error_in(browser.get(program.address(**changes)))

    assert (told["error"], told["state"]) == (error, program.state)


@pytest.mark.parametrize("query", ["client_id=%zz", "client_id=%ff%fe", "%00=%00", "client_id=a&client_id=b", ""])
def test_a_garbled_address_gets_a_page(browser: Client, query: str) -> None:
    assert browser.get(f"/authorize?{query}").status_code == 400


def test_further_parameters_change_nothing(user: "User", browser: Client, program: Program) -> None:
    further = {"nonce": "n" * 5000, "claims": "{", "resource": "x", "prompt": "create", "approval_prompt": "auto"}

    assert program.exchange(program.code(browser, **further)).status_code == 200


def test_pkce_lets_in_only_who_began(browser: Client, site: Site) -> None:
    program = Program(site, pkce=True)

    assert program.exchange(program.code(browser)).status_code == 200


@pytest.mark.parametrize(("verifier", "error"), [("x" * 64, "invalid_grant"), (None, "invalid_request")])
def test_a_code_asked_for_with_pkce_needs_its_verifier(
    user: "User", browser: Client, site: Site, verifier: str | None, error: str
) -> None:
    program = Program(site, pkce=True)

    answer = program.exchange(program.code(browser), code_verifier=verifier)

    assert (answer.status_code, answer.json()["error"]) == (400, error)
    assert keys_of(user) == []


def test_other_programs_must_use_pkce(user: "User", browser: Client, other_program: Program) -> None:
    assert other_program.exchange(other_program.code(browser)).status_code == 200

    other_program.pkce = False
    assert error_in(browser.get(other_program.address()))["error"] == "invalid_request"
    assert len(keys_of(user)) == 1


def test_a_code_is_good_once(user: "User", browser: Client, program: Program) -> None:
    code = program.code(browser)
    program.exchange(code)

    again = program.exchange(code)

    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert len(keys_of(user)) == 1


def test_of_many_who_bring_a_code_at_once_one_gets_a_key(user: "User", browser: Client, program: Program) -> None:
    code = program.code(browser)
    answers: list[int] = []
    threads = [threading.Thread(target=lambda: answers.append(program.exchange(code).status_code)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answers) == [200, *[400] * 7]
    assert len(keys_of(user)) == 1


def test_a_code_ends_after_a_minute_and_is_cleared_away(user: "User", browser: Client, program: Program) -> None:
    from oauth2_provider.models import Grant

    code = program.code(browser)
    granted = Grant.objects.get(code=code)
    assert timezone.now() + timedelta(seconds=50) < granted.expires <= timezone.now() + timedelta(seconds=60)
    Grant.objects.filter(code=code).update(expires=timezone.now())

    answer = program.exchange(code)

    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")
    assert keys_of(user) == []
    program.code(browser)
    assert not Grant.objects.filter(code=code).exists()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"redirect_uri": "http://localhost:49153"}, "invalid_request"),
        ({"redirect_uri": None}, "invalid_request"),
        ({"client_id": "nobody"}, "invalid_client"),
        ({"client_secret": "guessed"}, "invalid_client"),
        ({"code": "wrong"}, "invalid_grant"),
        ({"code": "null\x00byte"}, "invalid_grant"),
        ({"code": None}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
        ({"grant_type": "refresh_token", "refresh_token": "x"}, "invalid_grant"),
    ],
)
def test_an_exchange_that_does_not_fit_is_refused(
    user: "User", browser: Client, program: Program, changes: dict[str, str | None], error: str
) -> None:
    answer = program.exchange(program.code(browser), **changes)

    assert answer.status_code in (400, 401)
    assert answer.json()["error"] == error
    assert keys_of(user) == []


def test_a_code_of_another_program_is_no_good(
    user: "User", browser: Client, site: Site, other_program: Program
) -> None:
    program = Program(site, pkce=True)

    answer = program.exchange(program.code(browser), client_id=other_program.client_id)

    assert answer.json()["error"] == "invalid_grant"
    assert keys_of(user) == []


def test_who_is_locked_out_meanwhile_gets_no_key(user: "User", browser: Client, program: Program) -> None:
    code = program.code(browser)
    user.is_active = False
    user.save()

    assert program.exchange(code).json()["error"] == "invalid_grant"
    assert keys_of(user) == []


@pytest.mark.parametrize("query", ["", "?x=%zz&y=%ff"])
def test_the_token_address_takes_posts_alone(site: Site, query: str) -> None:
    with site.client() as http:
        assert http.get(f"/access/token{query}").status_code == 405
        refused = http.post(f"/access/token{query}", content=b"\xff\xfe")
        assert refused.status_code == 400
        assert refused.json()["error"] in ("unsupported_grant_type", "invalid_request")


def test_who_has_the_most_keys_is_told_so_before_and_after(user: "User", browser: Client, program: Program) -> None:
    from accounts import actions

    code = program.code(browser)
    for number in range(settings.API_KEYS_MAX):
        actions.create_api_key(user=user, name=f"Number {number}")

    asked, answer = browser.get(program.address()), program.exchange(code)

    assert asked.status_code == 400
    assert "Revoke one first" in asked.content.decode()
    assert answer.json()["error"] == "invalid_request"
    assert "Revoke one first" in answer.json()["error_description"]
    assert len(keys_of(user)) == settings.API_KEYS_MAX


def test_the_command_line_is_known_from_the_start() -> None:
    from oauth2_provider.models import Application

    program = Application.objects.get(client_id=CLI)

    assert program.redirect_uris.split() == ["http://localhost", "http://127.0.0.1"]
    assert (program.client_type, program.authorization_grant_type) == ("public", "authorization-code")
