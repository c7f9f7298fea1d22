"""REST: organizations and their members; API keys, which are made in the browser alone; what is left of a quota."""

from ninja import Query, Router

from accounts import actions, organizations
from accounts.access import key_for, live_keys, organization_for, organizations_of
from accounts.auth import Authenticated, user_of
from accounts.models import Membership
from accounts.schemas import (
    KeyPage,
    MemberOut,
    NewOrganization,
    OrganizationChanges,
    OrganizationFilters,
    OrganizationPage,
    OrganizationWithMembers,
    QuotaOut,
    RoleIn,
    key_page,
    member_out,
    organization_out,
    organization_page,
    quota_out,
)

organizations_router = Router()
keys_router = Router()
users_router = Router()


@organizations_router.get("", response=OrganizationPage)
def list_organizations(request: Authenticated, filters: Query[OrganizationFilters]) -> OrganizationPage:
    """Your organizations, by handle; `next` is the `after` of the following page."""
    return organization_page(organizations_of(user_of(request.auth)), filters)


@organizations_router.post("", response={201: OrganizationWithMembers})
def create_organization(request: Authenticated, payload: NewOrganization) -> OrganizationWithMembers:
    """Makes an organization, whose admin you are. Handles of users and organizations are one namespace."""
    user = user_of(request.auth)
    organizations.create_organization(by=user, handle=payload.handle, name=payload.name)
    return organization_out(organization_for(user, payload.handle))


@organizations_router.get("/{handle}", response=OrganizationWithMembers)
def read_organization(request: Authenticated, handle: str) -> OrganizationWithMembers:
    return organization_out(organization_for(user_of(request.auth), handle))


@organizations_router.patch("/{handle}", response=OrganizationWithMembers)
def rename_organization(request: Authenticated, handle: str, payload: OrganizationChanges) -> OrganizationWithMembers:
    """Gives it another name. For admins."""
    user = user_of(request.auth)
    found = organization_for(user, handle)
    organizations.rename_organization(organization=found, by=user, name=payload.name)
    return organization_out(organization_for(user, handle))


@organizations_router.delete("/{handle}", response={204: None})
def delete_organization(request: Authenticated, handle: str) -> None:
    """Deletes it, once it has no agents. For admins."""
    user = user_of(request.auth)
    organizations.delete_organization(organization=organization_for(user, handle), by=user)


@organizations_router.put("/{handle}/members/{username}", response=MemberOut)
def set_member(request: Authenticated, handle: str, username: str, payload: RoleIn) -> MemberOut:
    """Makes a user a member, or gives a member another role; one admin stays. For admins."""
    user, role = user_of(request.auth), Membership.Role(payload.role)
    found = organization_for(user, handle)
    return member_out(organizations.set_member(organization=found, by=user, username=username, role=role))


@organizations_router.delete("/{handle}/members/{username}", response={204: None})
def remove_member(request: Authenticated, handle: str, username: str) -> None:
    """Takes a member out; the last admin stays. For admins; you yourself may always leave."""
    user = user_of(request.auth)
    organizations.remove_member(organization=organization_for(user, handle), by=user, username=username)


@keys_router.get("", response=KeyPage)
def list_keys(request: Authenticated) -> KeyPage:
    """Your API keys that are not revoked, newest first. A new one is made at `/accounts/keys`, signed in."""
    return key_page(live_keys(user_of(request.auth)))


@keys_router.delete("/{key}", response={204: None})
def revoke_key(request: Authenticated, key: int) -> None:
    """Revokes a key at once and for good: also the one you call with."""
    user = user_of(request.auth)
    actions.revoke_api_key(key=key_for(user, key), by=user)


@users_router.get("/me/quota", response=QuotaOut)
def read_quota(request: Authenticated) -> QuotaOut:
    """What is left of your queries and tokens of today (UTC), and your credits. Two queries."""
    return quota_out(actions.usage_today(user_of(request.auth)))
