"""Whether somebody proved a moment ago who they are: asked before what a borrowed browser must not do."""

import time

from allauth.account.authentication import get_authentication_records
from allauth.core import ratelimit
from django.http import HttpRequest

from accounts.forms import PasswordAgain
from accounts.models import User

SECONDS = 300


def is_recent(request: HttpRequest) -> bool:
    """Whether this browser signed in, or gave the password again, in the last minutes.

    Asked of what django-allauth notes in the browser's session. One in which an administrator acts for somebody has no
    such note.
    """
    records = get_authentication_records(request, request.user)
    return any(time.time() - record["at"] < SECONDS for record in records)


def password_form(request: HttpRequest, user: User) -> PasswordAgain | None:
    """The form that asks for the password; None where that is not needed, or there is none to ask for."""
    return None if is_recent(request) else asked_for_password(request, user)


def asked_for_password(request: HttpRequest, user: User) -> PasswordAgain | None:
    """The same, however recently the user has signed in. So many tries a minute, as when signing in."""
    if not user.has_usable_password():
        return None
    if request.method != "POST":
        return PasswordAgain(user=user)
    may_try = ratelimit.consume(request, action="reauthenticate", user=user)
    return PasswordAgain(request.POST, user=user, may_try=may_try)


def must_sign_in(request: HttpRequest, user: User) -> bool:
    """Whether only signing in anew proves it: it was long ago, and there is no password."""
    return not is_recent(request) and not user.has_usable_password()
