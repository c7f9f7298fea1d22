"""Every write to organizations and their members.

An organization that has members has an admin among them: whoever changes members holds the organization's lock, and
looks again whether they still may. Missing and forbidden look the same: NotFound.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils.translation import gettext_lazy as _

from accounts.models import Membership, Organization, Owner, User
from accounts.names import RESERVED, TAKEN, check_line, is_taken
from common.errors import InvalidRequest, NotFound
from common.handles import HANDLE, check_handle

NAME_MAX_LENGTH = 200
ORGANIZATIONS_MAX = 100
MEMBERS_MAX = 1000
ADMIN = Membership.Role.ADMIN
NOT_ADMIN = "There is no such organization, or you are not one of its admins."

log = structlog.get_logger()


def create_organization(*, by: User, handle: str, name: str) -> Organization:
    """A new organization, whose admin is `by`.

    Raises InvalidRequest naming the field: a handle that is taken or reserved, a name without a letter; or where
    `by` is an admin of `ORGANIZATIONS_MAX` of them.
    """
    organization = Organization(name=_checked_name(name))
    if check_handle(handle).lower() in RESERVED:
        raise InvalidRequest(_("That name is reserved; please choose another."), field="handle")
    with _handle_is_free(handle):
        # Of two who want the last place, one waits here.
        User.objects.select_for_update(no_key=True).only("pk").get(pk=by.pk)
        # Not those that others have put them into.
        if by.membership_set.filter(role=ADMIN).count() >= ORGANIZATIONS_MAX:
            raise InvalidRequest(_("You may be an admin of %(limit)s organizations."), limit=ORGANIZATIONS_MAX)
        save_organization(organization=organization, handle=handle)
        organization.membership_set.create(user=by, role=ADMIN)
    log.info("organization_created", organization=organization.pk, by=by.pk)
    return organization


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


def rename_organization(*, organization: Organization, by: User, name: str) -> Organization:
    """Gives an organization another name; its handle stays. Raises InvalidRequest, NotFound."""
    name = _checked_name(name)
    with _locked_by_admin(organization, by) as locked:
        locked.name = name
        locked.save(update_fields=["name"])
    return locked


def delete_organization(*, organization: Organization, by: User) -> None:
    """Deletes an organization that has no agents, and frees its handle. Raises InvalidRequest, NotFound."""
    try:
        with _locked_by_admin(organization, by) as locked:
            # Nobody gives it an agent from here on.
            owner = Owner.objects.select_for_update().get(pk=locked.owner_id)
            locked.delete()
            owner.delete()
    except (ProtectedError, IntegrityError):
        raise InvalidRequest(_("The organization has agents; delete them first."), field="handle") from None
    log.info("organization_deleted", organization=organization.pk, by=by.pk)


def set_member(*, organization: Organization, by: User, username: str, role: Membership.Role) -> Membership:
    """Makes somebody a member with this role, or gives a member another one.

    Raises NotFound, also where there is no such user; InvalidRequest for the only admin, who stays one, and where
    there are `MEMBERS_MAX` members.
    """
    with _locked_by_admin(organization, by) as locked:
        found = _member(locked, username)
        if found is None:
            found = Membership(organization=locked, user=_newcomer(locked, username))
        elif role != ADMIN:
            _check_another_admin(found)
        found.role = role
        found.save()
    log.info("member_set", organization=locked.pk, user=found.user_id, role=role, by=by.pk)
    return found


def remove_member(*, organization: Organization, by: User, username: str) -> None:
    """Takes a member out: an admin anybody, any member themselves.

    Raises NotFound; InvalidRequest for the only admin.
    """
    with transaction.atomic():
        locked = _locked(organization)
        leaves = by.username == username
        _check_member(locked, by, admin=not leaves)
        found = _member(locked, username)
        if found is None:
            raise NotFound(_("There is no such member."), field="username")
        _check_another_admin(found)
        found.delete()
    log.info("member_removed", organization=locked.pk, user=found.user_id, by=by.pk)


@contextmanager
def _locked_by_admin(organization: Organization, by: User) -> Iterator[Organization]:
    """A transaction in which `by` is an admin and nobody else changes the organization or its members."""
    with transaction.atomic():
        locked = _locked(organization)
        _check_member(locked, by, admin=True)
        yield locked


def _locked(organization: Organization) -> Organization:
    found = Organization.objects.select_for_update(of=("self",)).select_related("owner").filter(pk=organization.pk)
    locked = found.first()
    if locked is None:
        raise NotFound(NOT_ADMIN, field="organization")
    return locked


def _check_member(organization: Organization, user: User, *, admin: bool) -> None:
    memberships = organization.membership_set.filter(user=user)
    if not (memberships.filter(role=ADMIN) if admin else memberships).exists():
        raise NotFound(NOT_ADMIN, field="organization")


def _check_another_admin(member: Membership) -> None:
    others = Membership.objects.filter(organization=member.organization_id, role=ADMIN).exclude(pk=member.pk)
    if member.role == ADMIN and not others.exists():
        raise InvalidRequest(_("An organization has an admin; make somebody else one first."), field="username")


def _member(organization: Organization, username: str) -> Membership | None:
    # What is no handle names nobody, and PostgreSQL fails on a NUL character.
    if not HANDLE.fullmatch(username):
        return None
    return organization.membership_set.select_related("user").filter(user__username=username).first()


def _newcomer(organization: Organization, username: str) -> User:
    user = User.objects.filter(username=username, is_active=True).first() if HANDLE.fullmatch(username) else None
    if user is None:
        raise NotFound(_("There is no such user."), field="username")
    if organization.membership_set.count() >= MEMBERS_MAX:
        raise InvalidRequest(_("An organization may have %(limit)s members."), field="username", limit=MEMBERS_MAX)
    return user


def _checked_name(name: str) -> str:
    return check_line(name, what=_("An organization's name"), field="name", limit=NAME_MAX_LENGTH)


@contextmanager
def _handle_is_free(handle: str) -> Iterator[None]:
    """A transaction that takes `handle`; somebody may have taken it since it was checked."""
    taken = InvalidRequest(TAKEN, field="handle")
    if is_taken(handle):
        raise taken
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise taken from None
