"""Who calls: from a bearer key or a browser session to a `Caller`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections
from django.http import HttpRequest
from ninja.security.base import AuthBase
from ninja.utils import check_csrf

from accounts import actions, tokens
from accounts.models import User
from common.db import run_db
from common.errors import Unauthenticated

# asyncio keeps only weak references to tasks.
_notes: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose key's signature or cookie is good.

    Whether the key is revoked and the user still active is asked together with the data the call needs, in
    the same statement (`user_of`, `sessions_app.accepting`), so that a revoked key fails at once.
    """

    user_id: int
    jti: UUID | None


# The caller's user `u`, unless inactive or the key revoked; `jti` is null for a browser session, and for an agent
# with the token of a call.
IS_CALLER = """
u.id = %(user)s AND u.is_active AND (
    %(jti)s::uuid IS NULL OR EXISTS (
        SELECT FROM accounts_apikey k WHERE k.jti = %(jti)s AND k.user_id = u.id AND k.revoked IS NULL))"""


class CallerAuth(AuthBase):
    """django-ninja's `auth`: a bearer key first, else the browser's session with its CSRF token."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    async def __call__(self, request: HttpRequest) -> Caller:
        return await caller_of(request)


class PrincipalAuth(AuthBase):
    """`CallerAuth` for what agents may do too: `request.auth` is a `Caller`, or a call token's `CallClaims`."""

    openapi_type = "http"
    openapi_scheme = "bearer"

    async def __call__(self, request: HttpRequest) -> "Principal":
        return await principal_of(request)


Principal = Caller | tokens.CallClaims


class Authenticated(HttpRequest):
    """What a handler of the API gets: `CallerAuth` has put the caller on the request."""

    auth: Caller


class Acting(HttpRequest):
    """The same where agents may act too, from `PrincipalAuth`."""

    auth: Principal


def bearer_of(request: HttpRequest) -> str | None:
    """The token of `Authorization: Bearer TOKEN`; None where the header is missing or of another scheme."""
    return _bearer_token(request.META.get("HTTP_AUTHORIZATION", ""))


def _bearer_token(authorization: str) -> str | None:
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


async def principal_of(request: HttpRequest) -> Principal:
    """Who makes an HTTP request: a user, or an agent with the token of a call. Raises Unauthenticated.

    That the call's user is still active is the statement's to ask, as with a `Caller`.
    """
    token = bearer_of(request)
    if token is None:
        return await caller_of(request)
    claims = await tokens.averify(token)
    return claims if isinstance(claims, tokens.CallClaims) else _noted(claims)


NOT_AT_WORK = "This token is of a query that has ended, or was stopped; it is good for User Storage alone."
IsAtWork = Callable[[tokens.CallClaims], Awaitable[bool]]
_is_at_work: IsAtWork | None = None


def ask_whether_at_work(is_at_work: IsAtWork) -> None:
    """Says who knows whether the query of a call is being answered: an app above this one, which keeps the queries."""
    global _is_at_work
    _is_at_work = is_at_work


async def check_at_work(principal: Principal) -> None:
    """Raises Unauthenticated for an agent whose query is not being answered now: it has ended, or is to stop.

    Nor is one where the call belongs to no run. Such are those that read a manifest or hand over a sign-in; whoever
    follows a stranger's link to `/oauth` makes one, at nobody's expense.
    """
    if isinstance(principal, Caller):
        return
    if not principal.run:
        raise Unauthenticated("This token is of a call that answers no query; it is good for User Storage alone.")
    if _is_at_work is None or not await _is_at_work(principal):
        raise Unauthenticated(NOT_AT_WORK)


async def caller_of(request: HttpRequest) -> Caller:
    """The caller of an HTTP request. Raises Unauthenticated."""
    token = bearer_of(request)
    if token is not None:
        return await caller_with_key(token)
    user = await request.auser() if hasattr(request, "auser") else None
    # The call may now wait for an agent, or stream for hours: not with a database connection in its hand.
    await sync_to_async(close_old_connections)()
    if user is None or user.pk is None:
        raise Unauthenticated("Sign in, or send an API key as `Authorization: Bearer KEY`.")
    if check_csrf(request) is not None:
        raise Unauthenticated("The form's CSRF token is missing or stale; reload the page.")
    return Caller(user_id=user.pk, jti=None)


async def caller_of_socket(scope: Mapping[str, Any]) -> Caller:
    """The caller who opens a WebSocket; a page needs our own origin beside its cookie. Raises Unauthenticated."""
    headers = dict(scope["headers"])
    key = _bearer_token(headers.get(b"authorization", b"").decode("latin-1"))
    if key is not None:
        return await caller_with_key(key)
    user = scope.get("user")
    if user is None or user.pk is None:
        raise Unauthenticated("Sign in, or send an API key as `Authorization: Bearer KEY`.")
    origin, host = (headers.get(name, b"").decode("latin-1") for name in (b"origin", b"host"))
    if not _is_ours(origin, host):
        raise Unauthenticated("This page may not open sessions here (its origin is another site).")
    return Caller(user_id=user.pk, jti=None)


def _is_ours(origin: str, host: str) -> bool:
    """Whether a page of this `origin` may use the visitor's cookie here."""
    try:
        netloc = urlsplit(origin).netloc
    except ValueError:
        return False
    return (netloc != "" and netloc == host) or origin in settings.CSRF_TRUSTED_ORIGINS


async def caller_with_key(key: str) -> Caller:
    """The caller who holds an API key. Raises Unauthenticated."""
    return _noted(await tokens.averify_api_key(key))


def _noted(claims: tokens.ApiKeyClaims) -> Caller:
    """The caller with this key, whose use is noted soon."""
    if actions.key_use_is_due(claims.jti):
        task = asyncio.create_task(run_db(actions.record_key_use, claims.jti))
        _notes.add(task)
        task.add_done_callback(_notes.discard)
    return Caller(user_id=claims.user_id, jti=claims.jti)


async def user_at_work(principal: Principal) -> User:
    """The caller, or the user for whom the agent works that calls. Raises Unauthenticated, as `check_at_work` too."""
    await check_at_work(principal)
    return await run_db(user_of, principal if isinstance(principal, Caller) else Caller(principal.user_id, None))


def user_of(caller: Caller) -> User:
    """The caller's user, in one query. Raises Unauthenticated for a revoked key or an inactive user."""
    users: Any = User.objects.filter(pk=caller.user_id, is_active=True).select_related("owner")
    if caller.jti is not None:
        users = users.filter(api_keys__jti=caller.jti, api_keys__revoked=None)
    user: User | None = users.first()
    if user is None:
        raise Unauthenticated("This key has been revoked, or its user is no longer active.")
    return user
