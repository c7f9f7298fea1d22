"""The only way an edge gets at what agents keep about a user."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.db.models.functions import Length

from accounts.auth import Caller, Principal, user_of
from accounts.models import User
from accounts.tokens import CallClaims
from common.db import run_db
from common.errors import NotFound, Unauthenticated
from common.handles import HANDLE
from registry.access import agent_for
from storage_kv import store
from storage_kv.models import StorageUsage, StoredValue


@dataclass(frozen=True, slots=True)
class Storage:
    """What the agent keeps about the user."""

    user_id: int
    agent_id: int

    def values(self) -> QuerySet[StoredValue]:
        return StoredValue.objects.filter(user=self.user_id, agent=self.agent_id)

    def usage(self) -> QuerySet[StorageUsage]:
        return StorageUsage.objects.filter(user=self.user_id, agent=self.agent_id)


async def storage_for(principal: Principal, owner: str, handle: str) -> Storage:
    """What the agent `owner/handle` keeps about the caller.

    An agent reaches its own, and the call counts; a user reaches that of every agent they may see, or that keeps
    something about them. Raises NotFound, Unauthenticated or RateLimited.
    """
    if isinstance(principal, CallClaims):
        return Storage(principal.user_id, await store.admit(agents_call(principal, owner, handle)))
    return await run_db(_callers_storage, principal, owner, handle)


async def value_for(principal: Principal, owner: str, handle: str, key: str) -> store.Value:
    """What the agent `owner/handle` keeps under `key` about the caller. Raises as `storage_for`."""
    if isinstance(principal, CallClaims):
        value = await store.read(agents_call(principal, owner, handle), key)
    else:
        value = await run_db(_users_value, principal, owner, handle, key)
    if value is None:
        raise no_value()
    return value


def agents_call(principal: Principal, owner: str, handle: str) -> CallClaims:
    """The call of the agent `owner/handle`, which alone may write.

    Raises Unauthenticated for a user, NotFound for the token of another agent's call.
    """
    if not isinstance(principal, CallClaims):
        raise Unauthenticated("Only the agent itself writes here, with the token of a call; you may read and delete.")
    if principal.agent_id != f"{owner}/{handle}":
        raise NotFound(store.NO_AGENT, field="agent")
    return principal


def no_value() -> NotFound:
    return NotFound("There is no value under this key.", field="key")


def entries(storage: Storage, *, prefix: str, after: str) -> QuerySet[StoredValue]:
    """The values under keys that begin with `prefix` and come after `after`, by key, with their `size` alone."""
    found = storage.values().filter(key__gt=after) if after else storage.values()
    if prefix:
        found = found.filter(key__startswith=prefix)
    return found.defer("value").annotate(size=Length("value")).order_by("key")


def storages_of(user: User) -> QuerySet[StorageUsage]:
    """How much each agent keeps about `user`, by the agent's name; those that keep nothing are left out."""
    kept = StorageUsage.objects.filter(user=user, keys__gt=0).select_related("agent__owner")
    return kept.order_by("agent__owner__handle", "agent__handle")


def users_storage(user: User, owner: str, handle: str) -> Storage:
    """What the agent `owner/handle` keeps about `user`, who sees the agent, or whom it keeps something about.

    Raises NotFound.
    """
    if HANDLE.fullmatch(owner) and HANDLE.fullmatch(handle):
        # It stays theirs to see when the agent no longer is.
        kept = storages_of(user).filter(agent__owner__handle=owner, agent__handle=handle).first()
        if kept is not None:
            return Storage(user.pk, kept.agent_id)
    return Storage(user.pk, agent_for(user, owner, handle).pk)


def _callers_storage(caller: Caller, owner: str, handle: str) -> Storage:
    return users_storage(user_of(caller), owner, handle)


def _users_value(caller: Caller, owner: str, handle: str, key: str) -> store.Value | None:
    found = _callers_storage(caller, owner, handle).values().filter(key=key).first()
    return store.Value(found.version, found.content_type, bytes(found.value)) if found else None
