"""`/api/keys`: a key lists and revokes its user's keys, and never makes another."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from accounts import actions, tokens
from tests.sessions_app.people import error_of
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

MakeUser = Callable[..., "User"]


def test_the_list_holds_live_keys_without_the_keys_themselves(site: Site, make_user: MakeUser) -> None:
    user = make_user()
    new, gone = (actions.create_api_key(user=user, name=name) for name in ("mine", "gone"))
    actions.revoke_api_key(key=gone.key, by=user)

    with site.client(new.token) as http:
        answer = http.get("/api/keys")

    (shown,) = answer.json()["keys"]
    assert (shown["id"], shown["name"]) == (new.key.pk, "mine")
    assert set(shown) == {"id", "name", "created", "last_used"}
    assert new.token.rpartition(".")[2] not in answer.text


def test_a_key_revokes_another_and_itself(site: Site, make_user: MakeUser) -> None:
    user = make_user()
    own, other = (actions.create_api_key(user=user, name=name) for name in ("own", "other"))

    with site.client(own.token) as http:
        assert http.delete(f"/api/keys/{other.key.pk}").status_code == 204
        with site.client(other.token) as revoked:
            assert revoked.get("/api/keys").status_code == 401
        assert http.delete(f"/api/keys/{own.key.pk}").status_code == 204
        assert http.get("/api/keys").status_code == 401


def test_a_key_makes_no_key(site: Site, make_user: MakeUser) -> None:
    user = make_user()

    with site.client(actions.create_api_key(user=user, name="leaked").token) as http:
        assert http.post("/api/keys", json={"name": "another"}).status_code == 405

    assert user.api_keys.count() == 1


@pytest.mark.parametrize("number", ["0", "9" * 30, "x"])
def test_a_key_that_cannot_exist_is_refused(site: Site, make_user: MakeUser, number: str) -> None:
    with site.client(actions.create_api_key(user=make_user(), name="mine").token) as http:
        assert http.delete(f"/api/keys/{number}").status_code in (400, 404)


def test_nobody_else_revokes_a_key(site: Site, make_user: MakeUser) -> None:
    key = actions.create_api_key(user=make_user(), name="mine").key
    outsider, administrator = make_user(), make_user(is_superuser=True)
    of_agent = tokens.CallClaims(user_id=key.user_id, agent_id="fixie/dice", session="s", run="r", chain=())
    callers = {
        404: [actions.create_api_key(user=user, name="x").token for user in (outsider, administrator)],
        401: [None, tokens.sign_call_token(of_agent, lifetime=60)],
    }

    for status, credentials in callers.items():
        for credential in credentials:
            with site.client(credential) as http:
                answer = http.delete(f"/api/keys/{key.pk}")
                assert (answer.status_code, error_of(answer)["code"] != "internal") == (status, True)
    key.refresh_from_db()
    assert key.revoked is None
