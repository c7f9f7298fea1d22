"""The only way an edge loads a key or an organization for a user."""

from django.db.models import F, QuerySet

from accounts.models import ApiKey, Organization, User
from common.errors import NotFound
from common.handles import HANDLE

REVOKED_SHOWN = 50


def live_keys(user: User) -> QuerySet[ApiKey]:
    """The user's keys that are good, newest first."""
    return user.api_keys.filter(revoked=None).order_by("-created", "-pk")


def revoked_keys(user: User) -> QuerySet[ApiKey]:
    """The user's keys that were revoked last, latest first."""
    return user.api_keys.exclude(revoked=None).order_by("-revoked", "-pk")[:REVOKED_SHOWN]


def key_for(user: User, key: int) -> ApiKey:
    """A key of the user's, revoked or not. Raises NotFound."""
    found = user.api_keys.filter(pk=key).first()
    if found is None:
        raise NotFound("You have no such key.", field="key")
    return found


def organization_for(user: User, handle: str) -> Organization:
    """The organization with this handle if `user` is one of its members; `own_role` is theirs. Raises NotFound."""
    found = organizations_of(user).filter(owner__handle=handle).first() if HANDLE.fullmatch(handle) else None
    if found is None:
        raise NotFound("There is no such organization, or you are not one of its members.", field="organization")
    return found


def organizations_of(user: User) -> QuerySet[Organization, Organization]:
    """The organizations that `user` is a member of, by handle, each with their `own_role` in it."""
    mine = Organization.objects.filter(membership__user=user).select_related("owner")
    return mine.annotate(own_role=F("membership__role")).order_by("owner__handle")
