"""Signing keys over their lives, and how soon a process learns of them."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections
from django.utils import timezone

from accounts import actions, keyring
from accounts.keyring import Keyring, KeySet
from accounts.models import SigningKey, User
from common.db import run_db

MakeUser = Callable[..., User]
ROOT = Path(__file__).parents[2]


def state_of(kid: str) -> str:
    return SigningKey.objects.get(pk=kid).state


def published_kids() -> set[str]:
    return {key["kid"] for key in json.loads(keyring.load().jwks)["keys"]}


def next_kid() -> str:
    return SigningKey.objects.get(state=keyring.NEXT).kid


def age_retirement(kid: str, **ago: float) -> None:
    SigningKey.objects.filter(pk=kid).update(retired=timezone.now() - timedelta(**ago))


def test_processes_that_start_together_make_one_active_and_one_next_key() -> None:
    SigningKey.objects.exclude(state=keyring.RETIRED).update(state=keyring.RETIRED, retired=timezone.now())
    together = threading.Barrier(8)

    def first_use(_: int) -> KeySet:
        together.wait()
        try:
            return Keyring().current()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        signers = {keys.signer.kid for keys in threads.map(first_use, range(8))}

    assert len(signers) == 1
    assert SigningKey.objects.filter(state=keyring.ACTIVE).count() == 1
    assert SigningKey.objects.filter(state=keyring.NEXT).count() == 1


def test_a_key_is_published_before_it_signs() -> None:
    before = keyring.load()
    waiting = next_kid()
    assert waiting in before.public_keys
    assert waiting != before.signer.kid

    actions.rotate_signing_key()

    assert keyring.load().signer.kid == waiting


def test_rotation_moves_every_key_one_state_on_and_destroys_the_retired_private_half() -> None:
    old, waiting = keyring.load().signer.kid, next_kid()

    active = actions.rotate_signing_key()

    assert active.kid == waiting
    assert (state_of(old), state_of(waiting)) == ("retired", "active")
    assert next_kid() not in (old, waiting)
    assert bytes(SigningKey.objects.get(pk=old).private_key) == b""


def test_rotations_at_once_follow_one_another() -> None:
    retired = SigningKey.objects.filter(state=keyring.RETIRED).count()
    keyring.load()

    def rotate(_: int) -> str:
        try:
            return actions.rotate_signing_key().kid
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        kids = set(threads.map(rotate, range(4)))

    assert len(kids) == 4
    assert SigningKey.objects.filter(state=keyring.RETIRED).count() == retired + 4


def test_a_retired_key_stays_published_for_an_hour_and_then_disappears() -> None:
    old = keyring.load().signer.kid
    actions.rotate_signing_key()

    assert old in published_kids()
    age_retirement(old, minutes=59)
    assert old in published_kids()
    age_retirement(old, minutes=61)
    assert old not in published_kids()


def test_a_retired_key_stays_published_as_long_as_runs_may_last(settings: LazySettings) -> None:
    settings.RUN_MAX_SECONDS = 3 * 3600.0
    old = keyring.load().signer.kid
    actions.rotate_signing_key()

    age_retirement(old, hours=3)
    assert old in published_kids()
    age_retirement(old, hours=3, minutes=6)
    assert old not in published_kids()


def test_a_retired_key_stays_published_until_the_last_key_it_signed_is_revoked(make_user: MakeUser) -> None:
    user = make_user()
    keyring.keyring.reload()
    first, second = (actions.create_api_key(user=user, name=name).key for name in ("first", "second"))
    assert first.signing_key_id == second.signing_key_id
    old = first.signing_key_id
    actions.rotate_signing_key()
    age_retirement(old, days=400)

    assert old in published_kids()
    actions.revoke_api_key(key=first, by=user)
    # Keys of other tests may hang on the same signing key.
    SigningKey.objects.get(pk=old).apikey_set.exclude(pk=second.pk).update(revoked=timezone.now())
    assert old in published_kids()
    actions.revoke_api_key(key=second, by=user)
    assert old not in published_kids()


@pytest.fixture
def first_secret(settings: LazySettings) -> Iterator[str]:
    """The SECRET_KEY that sealed the present keys; another one is set now."""
    keyring.load()
    first = str(settings.SECRET_KEY)
    settings.SECRET_KEY = "another secret, a long one at that"
    yield first
    settings.SECRET_KEY = first
    actions.rotate_signing_key()


@pytest.mark.usefixtures("first_secret")
def test_a_lost_secret_stops_signing_but_not_verifying_and_a_rotation_mends_it() -> None:
    lost = keyring.load()
    assert lost.public_keys
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY_FALLBACKS"):
        _ = lost.signer

    active = actions.rotate_signing_key()

    assert keyring.load().signer.kid == active.kid


def test_a_rotation_seals_the_active_key_with_the_present_secret(first_secret: str, settings: LazySettings) -> None:
    settings.SECRET_KEY_FALLBACKS = [first_secret]
    active = actions.rotate_signing_key()

    settings.SECRET_KEY_FALLBACKS = []

    assert keyring.load().signer.kid == active.kid


def test_a_process_stops_signing_with_a_key_soon_after_another_process_rotates() -> None:
    ours = Keyring(max_age=0.2)
    old = ours.current().signer.kid
    rotated = subprocess.run(
        [sys.executable, "manage.py", "rotate_signing_key", "--skip-checks"],
        cwd=ROOT, env=os.environ, check=True, capture_output=True, text=True,
    )  # fmt: skip

    time.sleep(0.2)

    assert ours.current().signer.kid in rotated.stdout
    assert ours.current().signer.kid != old


def test_within_its_age_a_key_set_costs_no_query() -> None:
    ours = Keyring()
    first = ours.current()

    with connection.execute_wrapper(refuse_queries):
        assert ours.current() is first
        assert ours.knowing(first.signer.kid) is first


def refuse_queries(*_: object) -> None:
    raise AssertionError("a query on the hot path")


def test_an_unknown_key_is_looked_for_in_the_database_at_most_once_a_second() -> None:
    ours = Keyring()
    loaded = ours.current()

    with connection.execute_wrapper(refuse_queries):
        assert ours.knowing("unknown") is loaded
    time.sleep(keyring.UNKNOWN_KEY_PAUSE_SECONDS)
    assert ours.knowing("unknown") is not loaded


async def test_async_callers_that_wait_share_one_load() -> None:
    ours = Keyring()

    key_sets = await asyncio.gather(*(ours.acurrent() for _ in range(50)))

    assert len({id(key_set) for key_set in key_sets}) == 1


async def test_under_traffic_the_key_set_is_renewed_without_anybody_waiting() -> None:
    ours = Keyring(refresh_age=0.01)
    first = await ours.acurrent()
    await asyncio.sleep(0.02)

    waits_for_nothing = ours.acurrent()
    with pytest.raises(StopIteration) as stopped:
        waits_for_nothing.send(None)
    assert stopped.value.value is first

    for _ in range(500):
        if ours.at_hand() is not first:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the key set was not renewed")


async def test_a_caller_that_gives_up_does_not_stop_the_load_for_the_others() -> None:
    ours = Keyring()
    impatient, patient = asyncio.create_task(ours.acurrent()), asyncio.create_task(ours.acurrent())
    await asyncio.sleep(0)
    impatient.cancel()

    assert (await patient).public_keys


async def test_while_the_database_does_not_answer_the_last_key_set_stays_in_use() -> None:
    ours = Keyring(max_age=0.0)
    first = await ours.acurrent()

    def reload_with_little_patience() -> KeySet:
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 50")
        try:
            return ours.reload()
        finally:
            with connection.cursor() as cursor:
                cursor.execute("RESET statement_timeout")

    with psycopg.connect(os.environ["DATABASE_URL"]) as other:
        other.execute("LOCK TABLE accounts_signingkey IN ACCESS EXCLUSIVE MODE")
        assert await run_db(reload_with_little_patience) is first
        other.rollback()
    assert await run_db(reload_with_little_patience) is not first
