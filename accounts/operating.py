"""What operators do to people's accounts, each act noted in the audit log. Credits are in `actions.grant_credits`."""

from collections.abc import Collection
from typing import Protocol

import structlog
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.actions import revoke_api_key
from accounts.models import User
from common.errors import InvalidRequest

log = structlog.get_logger()


class DeletesAccounts(Protocol):
    def __call__(self, *, user: User, by: User) -> None: ...


_deletes: DeletesAccounts | None = None


def delete_accounts_by(delete: DeletesAccounts) -> None:
    """Says who removes an account: an app above this one, which knows all that belongs to it."""
    global _deletes
    _deletes = delete


def delete_account(*, user: User, by: User) -> None:
    """Closes an account for good and has everything of it removed. Raises InvalidRequest where it has to stay."""
    check_may_operate_on(by, user)
    assert _deletes is not None, "sessions_app says so when it is ready"
    _deletes(user=user, by=by)


def may_operate_on(by: User, user: User) -> bool:
    """Whether `by` may change the account `user`: those of operators are changed by superusers alone."""
    return by.is_superuser or not (user.is_staff or user.is_superuser)


def check_may_operate_on(by: User, user: User) -> None:
    """Raises InvalidRequest unless `may_operate_on`."""
    if not may_operate_on(by, user):
        raise InvalidRequest(_("Only superusers change the accounts of operators."), field="user")


def set_active(*, user: User, by: User, active: bool) -> None:
    """Lets a user in again, or out: their keys, browsers and sockets are refused from now on, and come back with them.

    Raises InvalidRequest for oneself and for operators, which only superusers change.
    """
    check_may_operate_on(by, user)
    if user.pk == by.pk:
        raise InvalidRequest(_("You cannot switch off your own account."), field="user")
    with transaction.atomic():
        if User.objects.filter(pk=user.pk).exclude(is_active=active).update(is_active=active):
            audit.record(by=by, object=user, message="Activated." if active else "Deactivated.")
    log.info("user_switched", user=user.pk, active=active, by=by.pk)


def set_limits(*, user: User, by: User, daily_query_limit: int, daily_token_limit: int | None) -> None:
    """Gives a user other limits a day; None: as many tokens as they like. Raises InvalidRequest for operators."""
    check_may_operate_on(by, user)
    with transaction.atomic():
        before = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        told = (
            f"daily_query_limit: {before.daily_query_limit} → {daily_query_limit}; "
            f"daily_token_limit: {_limit(before.daily_token_limit)} → {_limit(daily_token_limit)}."
        )
        User.objects.filter(pk=user.pk).update(daily_query_limit=daily_query_limit, daily_token_limit=daily_token_limit)
        audit.record(by=by, object=user, message=told)


def _limit(limit: int | None) -> str:
    return "none" if limit is None else str(limit)


def revoke_keys(*, user: User, by: User, keys: Collection[int] | None = None) -> int:
    """Revokes those of the user's keys that are named by their ids, or all; returns how many were good until now.

    Raises InvalidRequest for operators, NotFound unless `by` may revoke keys.
    """
    check_may_operate_on(by, user)
    good = user.api_keys.filter(revoked=None)
    with transaction.atomic():
        chosen = list(good if keys is None else good.filter(pk__in=keys))
        for key in chosen:
            revoke_api_key(key=key, by=by)
    return len(chosen)
