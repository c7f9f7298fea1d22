"""An operator signs in as somebody else, to see what they see: who may, how it begins, and how it ends.

The browser's session becomes one of that person, with the operator noted in it. What must not be done meanwhile, and
the checks of each request, are `fixie_site.acting`. Nothing here passes through `django.contrib.auth.login`: its signal
would tell of a sign-in that the person never made.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.db import transaction
from django.http import HttpRequest
from django.middleware.csrf import rotate_token
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.models import User
from accounts.names import check_line
from common.errors import NotFound

IN_SESSION = "acting"
LASTS_SECONDS = 3600
REASON_MAX_LENGTH = 200
# Whoever signs in as somebody reads their conversations, too.
PERMISSIONS = ("accounts.sign_in_as", "sessions_app.read_content")
BACKEND = "django.contrib.auth.backends.ModelBackend"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts (`operator`) as whom (`user`), by their ids, until when (seconds since 1970).

    `credential` changes with the operator's password: then it ends, as their own session would.
    """

    operator: int
    operator_name: str
    credential: str
    user: int
    until: float

    def is_good(self) -> bool:
        """Whether the operator may still do this. Two queries."""
        operator, user = _one(self.operator), _one(self.user)
        if operator is None or user is None or time.time() > self.until:
            return False
        return self.is_of(operator) and may_sign_in_as(operator, user)

    def is_of(self, operator: User) -> bool:
        """Whether `operator` may have their own session back."""
        return operator.is_active and constant_time_compare(self.credential, operator.get_session_auth_hash())


def acting_in(session: SessionBase | None) -> Acting | None:
    """Who acts in this session of a browser; None where it is its owner's own."""
    noted = None if session is None else session.get(IN_SESSION)
    return Acting(**noted) if isinstance(noted, Mapping) else None


def acting_of(request: HttpRequest) -> Acting | None:
    """The same of a request; looks for no session where the browser sends none."""
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return None
    return acting_in(getattr(request, "session", None))


def may_sign_in_as(by: User, user: User) -> bool:
    """Whether `by` may act as `user`: only superusers as an operator, and nobody as somebody who is switched off."""
    if not by.is_active or not user.is_active or by.pk == user.pk or not by.has_perms(PERMISSIONS):
        return False
    return by.is_superuser or not (user.is_staff or user.is_superuser)


def begin(request: HttpRequest, *, by: User, user: User, reason: str) -> None:
    """Makes the browser's session one of `user`, for an hour, and notes it with its reason in the audit log.

    Raises NotFound unless `may_sign_in_as`, or while the browser acts as somebody already; InvalidRequest naming
    `reason`.
    """
    reason = check_line(reason, what=_("A reason"), field="reason", limit=REASON_MAX_LENGTH)
    if acting_in(request.session) is not None or not may_sign_in_as(by, user):
        raise NotFound(_("You cannot sign in as this user."), field="user")
    acting = Acting(
        operator=by.pk,
        operator_name=by.username,
        credential=by.get_session_auth_hash(),
        user=user.pk,
        until=time.time() + LASTS_SECONDS,
    )
    with transaction.atomic():
        audit.record(by=by, object=user, message=f"Signed in as this user: {reason}")
        _become(request, user)
        request.session[IN_SESSION] = asdict(acting)
    log.info("acting_began", operator=by.pk, user=user.pk)


def end(request: HttpRequest) -> User | None:
    """Gives the operator a session of their own back, under a new key, and returns them.

    None where they may have none any more: then the browser is signed out. Does nothing where nobody acts.
    """
    acting = acting_in(request.session)
    if acting is None:
        return None
    operator, user = _one(acting.operator), _one(acting.user)
    with transaction.atomic():
        if operator is not None and user is not None:
            audit.record(by=operator, object=user, message="Went back from this user to their own account.")
        if operator is None or not acting.is_of(operator):
            request.session.flush()
            operator = None
        else:
            _become(request, operator)
    log.info("acting_ended", operator=acting.operator, user=acting.user)
    return operator


def shown(request: HttpRequest) -> dict[str, Any]:
    """For templates: `acting`, an `Acting` or None."""
    return {"acting": acting_of(request)}


def _become(request: HttpRequest, user: User) -> None:
    """A new session, of `user`; nothing of the one before is in it, and its key is worth nothing any more."""
    request.session.flush()
    request.session[SESSION_KEY] = str(user.pk)
    request.session[BACKEND_SESSION_KEY] = BACKEND
    request.session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    request.user = user
    rotate_token(request)


def _one(pk: int) -> User | None:
    return User.objects.filter(pk=pk).first()
