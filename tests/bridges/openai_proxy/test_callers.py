"""Who may use the proxy: agents with the token of a call and users with a key; to deny anybody else changes nothing."""

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from django.conf import settings
from django.test import Client

from tests.bridges.openai_proxy.conftest import PROXY, Asker, error_of, used
from tests.llm_server import ScriptedModel
from tests.sites import Site

CALLS = [("POST", "chat/completions"), ("POST", "completions"), ("POST", "embeddings"), ("GET", "models")]


@pytest.fixture
def denied(proxy: Site, model: ScriptedModel) -> Callable[[str | None], None]:
    """`denied(key)` fails unless every call with this key is refused, and none reaches the server."""

    def check(key: str | None, **options: Any) -> None:
        with proxy.client(key, **options) as http:
            for method, path in CALLS:
                body = {"json": {"model": "scripted"}} if method == "POST" else {}
                said = http.request(method, f"{PROXY}/{path}", **body)
                assert said.status_code == 401, path
                assert said.headers["www-authenticate"] == "Bearer"
                assert error_of(said)["code"] == "invalid_api_key"
        assert model.headers == []

    return check


def test_agents_and_users_may(ann: Asker, proxy: Site, model: ScriptedModel, api_key: Any) -> None:
    for key in (ann.token, api_key(ann.user)):
        with proxy.client(key) as http:
            for method, path in CALLS:
                body = {"json": {"model": "scripted"}} if method == "POST" else {}
                assert http.request(method, f"{PROXY}/{path}", **body).status_code == 200, path


@pytest.mark.parametrize("key", [None, "sk-fixie-openai-key", "a.b.c"])
def test_strangers_may_not(denied: Any, key: str | None) -> None:
    denied(key)


def test_a_browsers_cookie_is_no_key(denied: Any, make_user: Any) -> None:
    browser = Client()
    browser.force_login(make_user(), backend="django.contrib.auth.backends.ModelBackend")

    denied(None, cookies={settings.SESSION_COOKIE_NAME: browser.cookies[settings.SESSION_COOKIE_NAME].value})


def test_a_revoked_key_is_refused_at_once(denied: Any, proxy: Site, model: ScriptedModel, make_user: Any) -> None:
    from accounts.actions import create_api_key, revoke_api_key

    user = make_user()
    key = create_api_key(user=user, name="mine")
    with proxy.client(key.token) as http:
        assert http.get(f"{PROXY}/models").status_code == 200
    revoke_api_key(key=key.key, by=user)
    model.reset()

    denied(key.token)


def test_an_expired_token_is_refused(denied: Any, ann: Asker, call_token: Any) -> None:
    denied(call_token(ann.user, ann.agent, lifetime=-2.0))
    assert used(ann.user) == (0, 0)


def test_a_user_who_is_no_longer_active_is_refused(denied: Any, ann: Asker, api_key: Any) -> None:
    key = api_key(ann.user)
    ann.user.is_active = False
    ann.user.save()

    denied(ann.token)
    denied(key)


def test_the_token_of_a_deleted_agent_is_refused(denied: Any, ann: Asker) -> None:
    ann.agent.delete()

    denied(ann.token)


def test_another_sites_token_is_refused(denied: Any, ann: Asker, call_token: Any, settings: Any) -> None:
    from accounts.tokens import CallClaims, sign_call_token

    settings.SITE_URL = "https://elsewhere.example.com"

    denied(sign_call_token(CallClaims(ann.user.pk, ann.agent.agent_id, "a-b-c", "r", ()), lifetime=60))


@pytest.mark.parametrize("change", [{"status": "completed"}, {"cancel_requested": True}])
def test_a_query_that_has_ended_or_is_to_stop_spends_nothing(denied: Any, ann: Asker, change: dict[str, Any]) -> None:
    from sessions_app.models import Run

    Run.objects.filter(session__owner=ann.user).update(**change)

    denied(ann.token)


def test_the_token_of_another_users_query_is_refused(denied: Any, ann: Asker, call_token: Any, asker: Any) -> None:
    from sessions_app.models import Run

    bob = asker()
    run = Run.objects.get(session__owner=bob.user)

    denied(call_token(ann.user, ann.agent, run=str(run.pk)))


def test_a_call_that_answers_no_query_spends_nothing(denied: Any, ann: Asker, call_token: Any) -> None:
    denied(call_token(ann.user, ann.agent, run=""))


def test_a_token_works_for_its_user_whoever_owns_the_agent(ann: Asker, model: ScriptedModel) -> None:
    assert isinstance(ann.chat(), httpx2.Response)
    assert used(ann.user) == (7, 3)
    assert used(ann.agent.owner.user) == (0, 0)
