"""This site's signing keys: kept in the database, rotated there, and held in memory for the hot path."""

import asyncio
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from weakref import WeakKeyDictionary

import orjson
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts import keys
from accounts.models import ApiKey, SigningKey
from common.db import run_db

ACTIVE, NEXT, RETIRED = SigningKey.State.ACTIVE, SigningKey.State.NEXT, SigningKey.State.RETIRED
# Any number, the same in every process: whoever makes or rotates keys holds this advisory lock.
ADVISORY_LOCK = 0x46495849
RETIRED_SECONDS = 3600.0
RUN_SLACK_SECONDS = 300.0
MAX_AGE_SECONDS = 10.0
REFRESH_AGE_SECONDS = 5.0
UNKNOWN_KEY_PAUSE_SECONDS = 1.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Signer:
    """The key that signs now."""

    kid: str
    private_key: Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class KeySet:
    """The published keys as they stood at one moment: by kid, and as the bytes of the JWK set."""

    public_keys: Mapping[str, Ed25519PublicKey]
    jwks: bytes
    active: Signer | None

    @property
    def signer(self) -> Signer:
        """Raises ImproperlyConfigured where SECRET_KEY does not open the active key; verifying still works."""
        if self.active is None:
            raise ImproperlyConfigured(
                "The signing key was encrypted with another SECRET_KEY. Put the old one into "
                "SECRET_KEY_FALLBACKS, or run `manage.py rotate_signing_key`."
            )
        return self.active


class Keyring:
    """The key set in memory. Thread-safe, and usable from several event loops.

    A set that is handed out for signing is at most `max_age` seconds old. Under traffic it is loaded again
    in the background from `refresh_age` seconds on, so that nobody waits for the database. While the
    database is away the last set stays in use: nobody can rotate keys then either.
    """

    def __init__(self, *, max_age: float = MAX_AGE_SECONDS, refresh_age: float = REFRESH_AGE_SECONDS) -> None:
        self.max_age = max_age
        self.refresh_age = refresh_age
        self._lock = threading.Lock()
        self._keys: KeySet | None = None
        self._checked = 0.0
        self._reloads: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[KeySet]] = WeakKeyDictionary()

    def current(self) -> KeySet:
        """The key set, at most `max_age` old."""
        return self._fresh(self.max_age) or self.reload()

    async def acurrent(self) -> KeySet:
        """`current`, which waits for the database only on first use or after a pause in the traffic."""
        key_set = self._fresh(self.max_age)
        if key_set is None:
            return await asyncio.shield(self._start_reload())
        if self._fresh(self.refresh_age) is None:
            self._start_reload()
        return key_set

    def at_hand(self) -> KeySet | None:
        """The set in memory whatever its age, for async code that must not wait; an old one is soon renewed."""
        if self._fresh(self.refresh_age) is None:
            self._start_reload()
        return self._keys

    def knowing(self, kid: str) -> KeySet:
        """`current`, loaded once more (at most once a second) where it lacks `kid`."""
        key_set = self.current()
        if kid in key_set.public_keys:
            return key_set
        return self._fresh(UNKNOWN_KEY_PAUSE_SECONDS) or self.reload()

    async def aknowing(self, kid: str) -> KeySet:
        """`knowing` for async code."""
        key_set = await self.acurrent()
        if kid in key_set.public_keys:
            return key_set
        loaded = self._fresh(UNKNOWN_KEY_PAUSE_SECONDS)
        return loaded if loaded is not None else await asyncio.shield(self._start_reload())

    def reload(self) -> KeySet:
        """Loads the set now, making the first keys where there are none."""
        with self._lock:
            key_set, started = self._keys, time.monotonic()
            try:
                key_set = load()
            except (OperationalError, InterfaceError) as error:
                if key_set is None:
                    raise
                log.warning("signing_keys_not_reloaded", error=type(error).__name__)
            self._keys, self._checked = key_set, started
            return key_set

    def _fresh(self, seconds: float) -> KeySet | None:
        return self._keys if time.monotonic() - self._checked <= seconds else None

    def _start_reload(self) -> "asyncio.Task[KeySet]":
        """One reload at a time in an event loop; all who wait share it."""
        loop = asyncio.get_running_loop()
        task = self._reloads.get(loop)
        if task is None or task.done():
            task = self._reloads[loop] = loop.create_task(run_db(self.reload))
        return task


keyring = Keyring()


def load() -> KeySet:
    """Reads the published keys, making the first ones where there are none."""
    rows = list(published())
    if not {ACTIVE, NEXT} <= {row.state for row in rows}:
        make_missing()
        rows = list(published())
    active = next(row for row in rows if row.state == ACTIVE)
    private_key = keys.unseal(active)
    return KeySet(
        public_keys={row.kid: keys.public_key_of(row) for row in rows},
        jwks=orjson.dumps({"keys": [keys.jwk_of(row) for row in rows]}),
        active=Signer(active.kid, private_key) if private_key else None,
    )


def published() -> QuerySet[SigningKey]:
    """The next and the active key, and retired ones while a token they signed may be alive."""
    live_keys = ApiKey.objects.filter(signing_key=OuterRef("pk"), revoked=None)
    call_tokens_live = timedelta(seconds=max(RETIRED_SECONDS, settings.RUN_MAX_SECONDS + RUN_SLACK_SECONDS))
    return SigningKey.objects.filter(
        Q(state__in=(ACTIVE, NEXT)) | Q(retired__gt=timezone.now() - call_tokens_live) | Exists(live_keys)
    ).order_by("created")


def make_missing() -> None:
    """Makes an active and a next key unless they are there; processes that start together share them."""
    with transaction.atomic():
        _lock_keys()
        present = set(SigningKey.objects.exclude(state=RETIRED).values_list("state", flat=True))
        for state in (ACTIVE, NEXT):
            if state not in present:
                keys.generate(state).save(force_insert=True)


def rotate() -> SigningKey:
    """Retires the active key, activates the next one, makes a new next one; returns the active key.

    A retired key only verifies, so its private half is destroyed. A next key that SECRET_KEY does not open
    cannot sign: it is retired too, and a fresh key takes its place at once.
    """
    with transaction.atomic():
        _lock_keys()
        waiting = SigningKey.objects.filter(state=NEXT).first()
        private_key = keys.unseal(waiting) if waiting else None
        doomed = [ACTIVE] if private_key else [ACTIVE, NEXT]
        SigningKey.objects.filter(state__in=doomed).update(state=RETIRED, retired=timezone.now(), private_key=b"")
        if waiting is None or private_key is None:
            waiting = keys.generate(ACTIVE)
        else:
            waiting.state = ACTIVE
            waiting.private_key = keys.seal(private_key)  # with today's SECRET_KEY
        waiting.save()
        keys.generate(NEXT).save(force_insert=True)
    keyring.reload()
    return waiting


def _lock_keys() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [ADVISORY_LOCK])
