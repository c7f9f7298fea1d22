"""Keys of people, what they have used, and the names of organizations."""

import re
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import actions, organizations, tokens
from accounts.models import ApiKey, Organization, UsageDay, User
from common.errors import InvalidRequest, NotFound

MakeUser = Callable[..., User]


def test_a_new_key_is_shown_once_and_not_stored(make_user: MakeUser) -> None:
    new = actions.create_api_key(user=make_user(), name="  my laptop ")

    row = ApiKey.objects.filter(pk=new.key.pk).values().get()

    assert row["name"] == "my laptop"
    assert row["revoked"] is None
    assert tokens.verify_api_key(new.token).jti == row["jti"]
    assert not any(part in str(row) for part in new.token.split("."))


@pytest.mark.parametrize("name", ["", "   ", "x" * 101, "a\x00b", "a\nb", "a\ud800b"])
def test_a_key_with_an_impossible_name_is_refused(name: str, make_user: MakeUser) -> None:
    user = make_user()

    with pytest.raises(InvalidRequest) as refused:
        actions.create_api_key(user=user, name=name)

    assert refused.value.details["field"] == "name"
    assert not ApiKey.objects.filter(user=user).exists()


@pytest.mark.parametrize("name", ["x", "x" * 100, "Мой ключ", "👩‍💻"])
def test_a_key_may_be_named_in_any_script(name: str, make_user: MakeUser) -> None:
    assert actions.create_api_key(user=make_user(), name=name).key.name == name


def test_of_many_who_want_the_last_key_at_once_one_gets_it(make_user: MakeUser, settings: Any) -> None:
    user, settings.API_KEYS_MAX = make_user(), 3
    refusals: list[InvalidRequest] = []

    def make() -> None:
        try:
            actions.create_api_key(user=user, name="mine")
        except InvalidRequest as refused:
            refusals.append(refused)
        finally:
            connection.close()

    threads = [threading.Thread(target=make) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ApiKey.objects.filter(user=user).count() == 3
    assert [refused.details["limit"] for refused in refusals] == [3] * 7


def test_the_user_revokes_a_key_and_an_administrator_may(make_user: MakeUser) -> None:
    user, administrator = make_user(), make_user(is_superuser=True)
    first, second = (actions.create_api_key(user=user, name=name).key for name in ("first", "second"))

    assert actions.revoke_api_key(key=first, by=user).revoked is not None
    assert actions.revoke_api_key(key=second, by=administrator).revoked is not None


def test_somebody_else_cannot_revoke_a_key(make_user: MakeUser) -> None:
    key = actions.create_api_key(user=make_user(), name="mine").key

    with pytest.raises(NotFound):
        actions.revoke_api_key(key=key, by=make_user())

    key.refresh_from_db()
    assert key.revoked is None


def test_revoking_again_keeps_the_first_time(make_user: MakeUser) -> None:
    user = make_user()
    key = actions.create_api_key(user=user, name="mine").key
    first = actions.revoke_api_key(key=key, by=user).revoked

    assert actions.revoke_api_key(key=key, by=user).revoked == first


def test_the_use_of_a_key_is_written_once_a_minute(make_user: MakeUser) -> None:
    key = actions.create_api_key(user=make_user(), name="mine").key
    assert actions.key_use_is_due(key.jti)

    with CaptureQueriesContext(
        connection,
    ) as queries:
        for _ in range(10):
            actions.record_key_use(key.jti)

    key.refresh_from_db()
    assert key.last_used is not None
    assert len(queries) == 1
    assert not actions.key_use_is_due(key.jti)


def test_a_use_that_another_process_wrote_a_moment_ago_stands(make_user: MakeUser) -> None:
    key = actions.create_api_key(user=make_user(), name="mine").key
    moment_ago = timezone.now() - timedelta(seconds=20)
    ApiKey.objects.filter(pk=key.pk).update(last_used=moment_ago)

    actions.record_key_use(key.jti)

    key.refresh_from_db()
    assert key.last_used == moment_ago


def test_the_use_of_an_unknown_key_is_ignored() -> None:
    actions.record_key_use(uuid.uuid4())


def test_the_usage_of_today_is_the_users_total(make_user: MakeUser) -> None:
    user, other = make_user(daily_query_limit=50), make_user()
    today = datetime.now(UTC).date()
    for owner, agent, day, queries in (
        (user, None, today, 7),
        (user, 1, today, 5),
        (user, None, today - timedelta(days=1), 11),
        (other, None, today, 13),
    ):
        UsageDay.objects.create(user=owner, agent=agent, day=day, queries=queries)

    usage = actions.usage_today(user)

    assert (usage.used, usage.limit) == (7, 50)
    assert usage.resets_at == datetime.combine(today + timedelta(days=1), datetime.min.time(), UTC)


def test_somebody_who_asked_nothing_has_used_nothing(make_user: MakeUser) -> None:
    assert actions.usage_today(make_user()).used == 0


def test_an_organization_is_named_and_renamed() -> None:
    first, second = (f"org-{uuid.uuid4().hex[:8]}" for _ in range(2))

    organization = organizations.save_organization(organization=Organization(name="Ours"), handle=first)
    assert Organization.objects.get(owner__handle=first) == organization
    organizations.save_organization(organization=organization, handle=second)

    assert Organization.objects.get(owner__handle=second) == organization
    assert not Organization.objects.filter(owner__handle=first).exists()


def test_an_organization_cannot_take_the_name_of_a_user(make_user: MakeUser) -> None:
    user = make_user()

    with pytest.raises(IntegrityError):
        organizations.save_organization(organization=Organization(name="Theirs"), handle=user.username)

    assert not Organization.objects.filter(owner=user.owner).exists()


def test_a_rotation_tells_which_key_signs_now() -> None:
    active = actions.rotate_signing_key()

    assert re.fullmatch(r"[\w-]{43}", active.kid)
    assert active.state == "active"
