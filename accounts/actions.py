"""Every write to accounts: keys of people and of the site, and names of organizations; and a user's usage."""

import threading
import time
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from uuid import UUID, uuid4

import structlog
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts import keyring, tokens
from accounts.models import ApiKey, Organization, Owner, SigningKey, UsageDay, User
from common.errors import InvalidRequest, NotFound

KEY_NAME_MAX_LENGTH = 100
KEY_USE_SECONDS = 60.0
KEY_USES_REMEMBERED = 10_000

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """A key's row and the key itself, which exists only here: show it once."""

    key: ApiKey
    token: str


@dataclass(frozen=True, slots=True)
class Usage:
    """A user's queries of the present day (UTC), which ends at `resets_at`."""

    used: int
    limit: int
    resets_at: datetime


def create_api_key(*, user: User, name: str) -> NewApiKey:
    """Makes an API key for `user`. Raises InvalidRequest where `name` is not 1 to 100 characters of text."""
    name = _checked_key_name(name)
    signer = keyring.keyring.current().signer
    key = ApiKey.objects.create(user=user, jti=uuid4(), signing_key_id=signer.kid, name=name)
    log.info("api_key_created", user=user.pk, key=key.pk)
    return NewApiKey(key, tokens.sign_api_key(user_id=user.pk, jti=key.jti, signer=signer))


def _checked_key_name(name: str) -> str:
    name = name.strip()
    if not 1 <= len(name) <= KEY_NAME_MAX_LENGTH:
        raise InvalidRequest(
            f"A key's name has 1 to {KEY_NAME_MAX_LENGTH} characters.",
            field="name",
            limit=KEY_NAME_MAX_LENGTH,
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise InvalidRequest("A key's name has no control characters.", field="name")
    return name


def revoke_api_key(*, key: ApiKey, by: User) -> ApiKey:
    """Revokes a key for good; one revoked before stays as it was.

    Raises NotFound unless `by` is the key's user or an administrator.
    """
    if by.pk != key.user_id and not by.is_superuser:
        raise NotFound("You have no such key.", field="key")
    if ApiKey.objects.filter(pk=key.pk, revoked=None).update(revoked=timezone.now()):
        log.info("api_key_revoked", user=key.user_id, key=key.pk, by=by.pk)
    key.refresh_from_db(fields=["revoked"])
    return key


def rotate_signing_key() -> SigningKey:
    """Signs with the next key from now on, and publishes a new next one; returns the key that signs now.

    Other processes follow within `keyring.MAX_AGE_SECONDS`. Tokens signed before stay good.
    """
    active = keyring.rotate()
    log.info("signing_key_rotated", kid=active.kid)
    return active


_key_uses: dict[UUID, float] = {}
_key_uses_lock = threading.Lock()


def key_use_is_due(jti: UUID) -> bool:
    """Whether `record_key_use` would write; costs nothing, so ask it before crossing to a thread."""
    return time.monotonic() - _key_uses.get(jti, -KEY_USE_SECONDS) >= KEY_USE_SECONDS


def record_key_use(jti: UUID) -> None:
    """Notes that a key was used now; writes at most once a minute for a key."""
    with _key_uses_lock:
        if not key_use_is_due(jti):
            return
        if len(_key_uses) >= KEY_USES_REMEMBERED:
            _key_uses.clear()
        _key_uses[jti] = time.monotonic()
    now = timezone.now()
    # Other processes remember uses of their own.
    stale = Q(last_used=None) | Q(last_used__lt=now - timedelta(seconds=KEY_USE_SECONDS))
    ApiKey.objects.filter(stale, jti=jti).update(last_used=now)


def usage_today(user: User) -> Usage:
    """What `user` has used of the daily quota."""
    today = datetime.now(UTC).date()
    used = UsageDay.objects.filter(user=user, agent=None, day=today).values_list("queries", flat=True).first()
    midnight = datetime.combine(today + timedelta(days=1), time_of_day.min, UTC)
    return Usage(used=used or 0, limit=user.daily_query_limit, resets_at=midnight)


def save_organization(*, organization: Organization, handle: str) -> Organization:
    """Saves an organization under `handle`, which must be free or its own; IntegrityError where it is not."""
    with transaction.atomic():
        if organization._state.adding:
            organization.owner = Owner.objects.create(handle=handle)
        elif organization.owner.handle != handle:
            organization.owner.handle = handle
            organization.owner.save(update_fields=["handle"])
        organization.save()
    return organization
