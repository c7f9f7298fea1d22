"""Every write to accounts: keys of people and of the site, credits; and a user's usage.

`organizations` writes organizations and who belongs to them.
"""

import threading
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from uuid import UUID, uuid4, uuid5

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit, keyring, tokens
from accounts.models import ApiKey, CreditEntry, SigningKey, UsageDay, User
from accounts.names import check_line
from common.errors import InvalidRequest, NotFound

KEY_NAME_MAX_LENGTH = 100
REASON_MAX_LENGTH = 200
CREDITS_MAX = 1_000_000_000
KEY_USE_SECONDS = 60.0
KEY_USES_REMEMBERED = 10_000

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """A key's row and the key itself, which exists only here: show it once.

    `made` is False where the same form had made it before.
    """

    key: ApiKey
    token: str
    made: bool = True


@dataclass(frozen=True, slots=True)
class Usage:
    """What a user has used of the present day (UTC), which ends at `resets_at`.

    `used` and `limit` count queries, `tokens` and `token_limit` tokens of language models (None: no limit); `credits`
    are queries beyond the limit.
    """

    used: int
    limit: int
    tokens: int
    token_limit: int | None
    credits: int
    resets_at: datetime


def create_api_key(*, user: User, name: str, form: UUID | None = None) -> NewApiKey:
    """Makes an API key for `user`. With `form`, which names a form that may be sent twice, it makes one key of both.

    Raises InvalidRequest where `name` is not 1 to 100 characters of text, or `check_room_for_key` does.
    """
    name = check_line(name, what=_("A key's name"), field="name", limit=KEY_NAME_MAX_LENGTH)
    # Of the user too: nobody takes or finds the key of somebody else's form.
    jti = uuid4() if form is None else uuid5(form, str(user.pk))
    signer = keyring.keyring.current().signer
    with transaction.atomic():
        # Of two who want the last place, one waits here. `no_key`: rows that point at the user are written meanwhile.
        User.objects.select_for_update(no_key=True).only("pk").get(pk=user.pk)
        if (before := user.api_keys.filter(jti=jti).first()) is not None:
            return replace(signed_api_key(key=before), made=False)
        check_room_for_key(user)
        key = ApiKey.objects.create(user=user, jti=jti, signing_key_id=signer.kid, name=name)
    log.info("api_key_created", user=user.pk, key=key.pk)
    return signed_api_key(key=key)


def signed_api_key(*, key: ApiKey) -> NewApiKey:
    """The key itself, for whoever has just made it and has not been shown it."""
    signer = keyring.keyring.current().signer
    # Signing keys stay published for as long as rows name them.
    ApiKey.objects.filter(pk=key.pk).exclude(signing_key=signer.kid).update(signing_key=signer.kid)
    return NewApiKey(key, tokens.sign_api_key(user_id=key.user_id, jti=key.jti, signer=signer))


def check_room_for_key(user: User) -> None:
    """Raises InvalidRequest where `user` has `API_KEYS_MAX` keys that are not revoked."""
    limit = settings.API_KEYS_MAX
    if user.api_keys.filter(revoked=None).count() >= limit:
        raise InvalidRequest(
            _("You have %(limit)s keys, which is the most. Revoke one first."), field="name", limit=limit
        )


def revoke_api_key(*, key: ApiKey, by: User) -> ApiKey:
    """Revokes a key for good; one revoked before stays as it was.

    Raises NotFound unless `by` is the key's user or an operator who may; what an operator does is in the audit log.
    """
    is_own = by.pk == key.user_id
    if not is_own and not by.has_perm("accounts.change_apikey"):
        raise NotFound("You have no such key.", field="key")
    with transaction.atomic():
        if ApiKey.objects.filter(pk=key.pk, revoked=None).update(revoked=timezone.now()):
            log.info("api_key_revoked", user=key.user_id, key=key.pk, by=by.pk)
            if not is_own:
                audit.record(by=by, object=key.user, message=f"Revoked the API key {key.pk} ({key.name}).")
    key.refresh_from_db(fields=["revoked"])
    return key


def rotate_signing_key(*, by: User | None = None) -> SigningKey:
    """Signs with the next key from now on, and publishes a new next one; returns the key that signs now.

    Other processes follow within `keyring.MAX_AGE_SECONDS`. Tokens signed before stay good. Where the operator `by` is
    known, it is noted in the audit log.
    """
    active = keyring.rotate()
    if by is not None:
        audit.record(by=by, object=active, message="Rotated: this key signs from now on.")
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


def day_ends() -> datetime:
    """When the present day ends in UTC, and what was used of a daily limit is forgotten."""
    return datetime.combine(datetime.now(UTC).date() + timedelta(days=1), time_of_day.min, UTC)


def usage_today(user: User) -> Usage:
    """What `user` has used of the daily quota. One query."""
    ends = day_ends()
    today = (ends - timedelta(days=1)).date()
    used = UsageDay.objects.filter(user=user, agent=None, day=today).first() or UsageDay()
    return Usage(
        used=used.queries,
        limit=user.daily_query_limit,
        tokens=used.prompt_tokens + used.completion_tokens,
        token_limit=user.daily_token_limit,
        credits=user.credits,
        resets_at=ends,
    )


def update_profile(*, user: User, first_name: str, last_name: str) -> User:
    """Says what `user` is called beside the username, which stays. The edge's form has checked the lengths."""
    user.first_name, user.last_name = first_name, last_name
    user.save(update_fields=["first_name", "last_name"])
    return user


def grant_credits(*, user: User, amount: int, reason: str, by: User) -> CreditEntry:
    """Gives `user` queries beyond the daily limit, or takes some back where `amount` is negative.

    Raises NotFound unless `by` may add credit entries, InvalidRequest naming `amount` or `reason`.
    """
    if not by.has_perm("accounts.add_creditentry"):
        raise NotFound(_("You cannot grant credits."), field="user")
    reason = check_line(reason, what=_("A reason"), field="reason", limit=REASON_MAX_LENGTH)
    if amount == 0 or abs(amount) > CREDITS_MAX:
        raise InvalidRequest(_("The amount is 1 to %(limit)s, or as much below 0."), field="amount", limit=CREDITS_MAX)
    with transaction.atomic():
        # The condition is asked of the row's newest state: queries may spend credits meanwhile.
        having = User.objects.filter(pk=user.pk, credits__gte=-amount, credits__lte=CREDITS_MAX - amount)
        if not having.update(credits=F("credits") + amount):
            raise InvalidRequest(_("A user has 0 to %(limit)s credits."), field="amount", limit=CREDITS_MAX)
        entry = CreditEntry.objects.create(user=user, amount=amount, reason=reason, granted_by=by)
        audit.record(by=by, object=user, message=f"Credits: {amount:+d} ({reason}).")
    log.info("credits_granted", user=user.pk, amount=amount, by=by.pk)
    return entry
