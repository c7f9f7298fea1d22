"""What organizations, keys and quotas look like over REST."""

from datetime import datetime
from typing import Literal

from django.db.models import QuerySet
from ninja import Field, Schema
from pydantic import ConfigDict

from accounts.actions import Usage
from accounts.models import ApiKey, Membership, Organization
from accounts.organizations import NAME_MAX_LENGTH
from common.handles import HANDLE

_NAME = Field(description=f"1 to {NAME_MAX_LENGTH} characters.")


class NewOrganization(Schema):
    model_config = ConfigDict(extra="forbid")

    handle: str = Field(description=f"Letters, digits, - and _: `{HANDLE.pattern}`; no user's and no other's.")
    name: str = _NAME


class OrganizationChanges(Schema):
    model_config = ConfigDict(extra="forbid")

    name: str = _NAME


class RoleIn(Schema):
    model_config = ConfigDict(extra="forbid")

    role: Literal["member", "admin"]


class MemberOut(Schema):
    username: str
    role: str


class OrganizationOut(Schema):
    """An organization of yours; `role` is your own in it."""

    handle: str
    name: str
    role: str


class OrganizationWithMembers(OrganizationOut):
    members: list[MemberOut]


class OrganizationPage(Schema):
    organizations: list[OrganizationOut]
    next: str | None


class OrganizationFilters(Schema):
    limit: int = Field(50, ge=1, le=100)
    after: str = Field("", description="The `next` of the page before.", pattern=rf"^({HANDLE.pattern})?$")


def organization_page(found: QuerySet[Organization], filters: OrganizationFilters) -> OrganizationPage:
    """The page asked for of `accounts.access.organizations_of`."""
    if filters.after:
        found = found.filter(owner__handle__gt=filters.after)
    organizations = list(found[: filters.limit + 1])
    shown = organizations[: filters.limit]
    return OrganizationPage(
        organizations=[OrganizationOut(**_fields(organization)) for organization in shown],
        next=shown[-1].owner.handle if len(organizations) > filters.limit else None,
    )


def organization_out(organization: Organization) -> OrganizationWithMembers:
    """An organization from `accounts.access.organization_for`, with its members by name. One query."""
    members = organization.membership_set.select_related("user").order_by("user__username")
    return OrganizationWithMembers(**_fields(organization), members=[member_out(member) for member in members])


def member_out(member: Membership) -> MemberOut:
    return MemberOut(username=member.user.username, role=member.role)


def _fields(organization: Organization) -> dict[str, str]:
    role: str = organization.own_role  # type: ignore[attr-defined]  # annotated
    return {"handle": organization.owner.handle, "name": organization.name, "role": role}


class KeyOut(Schema):
    """An API key of yours, without the key itself. `last_used` is true to a minute."""

    id: int
    name: str
    created: datetime
    last_used: datetime | None


class KeyPage(Schema):
    keys: list[KeyOut]


def key_page(keys: QuerySet[ApiKey]) -> KeyPage:
    return KeyPage(
        keys=[KeyOut(id=key.pk, name=key.name, created=key.created, last_used=key.last_used) for key in keys]
    )


class Room(Schema):
    """What is left of a limit of the day, until `reset`. `limit` and `remaining` are null where there is none."""

    limit: int | None
    used: int
    remaining: int | None
    reset: datetime


class QuotaOut(Schema):
    """What you may still use today (UTC). `credits` are queries beyond the limit."""

    queries: Room
    tokens: Room
    credits: int


def quota_out(usage: Usage) -> QuotaOut:
    return QuotaOut(
        queries=_room(usage.limit, usage.used, usage.resets_at),
        tokens=_room(usage.token_limit, usage.tokens, usage.resets_at),
        credits=usage.credits,
    )


def _room(limit: int | None, used: int, reset: datetime) -> Room:
    return Room(limit=limit, used=used, remaining=None if limit is None else max(0, limit - used), reset=reset)
