"""Deleting somebody's account with everything that the site keeps about them.

In two steps. Closing it is one transaction, after which nobody acts as this user any more: no query is accepted, no
key and no browser gets in. Then a background task removes all that there is, in pieces; it may be done twice, and a
periodic task sees that it is done to the end, whatever dies meanwhile.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

import structlog
from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session as BrowserSession
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from procrastinate.contrib.django import app
from procrastinate.exceptions import AlreadyEnqueued

from accounts.audit import has_operated
from accounts.models import AccountRemoval, Membership, Organization, Owner, UsageDay, User
from accounts.organizations import ADMIN
from common.db import run_db
from common.errors import InvalidRequest, NotFound
from embeds.actions import remove_loose_files, remove_unreferenced
from embeds.models import Embed
from embeds.rows import BATCH, loosen
from registry.actions import delete_agent
from registry.models import Agent
from sessions_app import stopping
from sessions_app.actions import UNFINISHED, delete_session
from sessions_app.models import Run, Session

TASK = "sessions.remove_account"
# Whose use of an agent counts as one who loses it.
LATELY = timedelta(days=30)

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class OwnAgent:
    """An agent that goes with an account, and how many others have asked it lately."""

    agent: Agent
    others: int


@dataclass(frozen=True, slots=True)
class Deletion:
    """What deleting an account does.

    It is refused where there are organizations that would have members and no admin (`without_admin`), for the
    `last_superuser`, and for an `operator`, whom the audit log names. `alone_in` are organizations that go with it.
    """

    sessions: int
    attachments: int
    keys: int
    agents: list[OwnAgent]
    alone_in: list[Organization]
    without_admin: list[Organization]
    last_superuser: bool
    operator: bool

    @property
    def refused(self) -> bool:
        return bool(self.without_admin) or self.last_superuser or self.operator


def deletion_of(user: User) -> Deletion:
    """What would go with `user`. Some few queries."""
    return Deletion(
        sessions=Session.objects.visible_to(user).count(),
        attachments=Embed.objects.filter(owner=user).count(),
        keys=user.api_keys.filter(revoked=None).count(),
        agents=list(_own_agents(user)),
        alone_in=list(_alone_in(user)),
        without_admin=list(_without_admin(user)),
        last_superuser=_is_last_superuser(user),
        operator=has_operated(user),
    )


def delete_account(*, user: User, by: User) -> None:
    """Closes the account of `user` for good, and has everything removed that the site keeps about them.

    Raises NotFound unless `by` is that user or may delete users; InvalidRequest with a `reason`, of `last_superuser`,
    `operator` and `last_admin` (`organizations` names which).
    """
    if by.pk != user.pk and not by.has_perm("accounts.delete_user"):
        raise NotFound("There is no such user.", field="user")
    with transaction.atomic():
        locked = _locked(user)
        _check_may_go(locked)
        locked.is_active = False
        locked.set_unusable_password()
        locked.save(update_fields=["is_active", "password"])
        AccountRemoval.objects.get_or_create(user=locked)
        remove_later(locked.pk)
    log.info("account_closed", user=user.pk, by=by.pk)


def remove_later(user: int) -> None:
    """Has the account of this id removed as soon as the present transaction is committed."""
    lock = f"account:{user}"
    try:
        with transaction.atomic():
            app.configure_task(TASK, lock=lock, queueing_lock=lock).defer(user=user)
    except AlreadyEnqueued:
        return


def unfinished_removals() -> list[int]:
    """Accounts that were closed, and are still there."""
    return list(AccountRemoval.objects.values_list("user_id", flat=True))


async def remove_account(user: int) -> None:
    """Removes all of a closed account, the user last. Does nothing where it is gone, or was never closed."""
    if not await run_db(AccountRemoval.objects.filter(user=user).exists):
        return
    runs = await run_db(list, _unfinished_runs(user))
    stopped = [each for run in runs for each in await stopping.stop(run)]
    await stopping.acknowledged(stopped)
    await run_db(_remove_all, user)
    log.info("account_removed", user=user)


def _locked(user: User) -> User:
    """The user and their organizations, held: nobody becomes or ceases to be an admin meanwhile."""
    # Of two administrators who go at once, one waits here and is the last then. In one order, with the user among them.
    who = User.objects.filter(is_superuser=True) if user.is_superuser else User.objects.filter(pk=user.pk)
    held = {each.pk: each for each in who.order_by("pk").select_for_update(no_key=True)}
    if user.pk not in held:
        raise NotFound("There is no such user.", field="user")
    list(Organization.objects.filter(members=user).order_by("pk").select_for_update(of=("self",)))
    return held[user.pk]


def _check_may_go(user: User) -> None:
    if _is_last_superuser(user):
        raise InvalidRequest(
            _("The site needs an administrator; make somebody else one first."), reason="last_superuser"
        )
    if has_operated(user):
        words = _("The audit log names this administrator, so the account stays; it can be switched off.")
        raise InvalidRequest(words, reason="operator")
    if handles := [organization.owner.handle for organization in _without_admin(user)]:
        listed = ", ".join(handles)
        words = _("Make somebody else an admin first, or delete the organization: {handles}.")
        raise InvalidRequest(format_lazy(words, handles=listed), reason="last_admin", organizations=handles)


def _is_last_superuser(user: User) -> bool:
    others = User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk)
    return user.is_superuser and not others.exists()


def _organizations(user: User) -> "QuerySet[Organization]":
    return Organization.objects.filter(members=user).select_related("owner").order_by("owner__handle")


def _others(user: User) -> "QuerySet[Membership]":
    return Membership.objects.filter(organization=OuterRef("pk")).exclude(user=user)


def _alone_in(user: User) -> "QuerySet[Organization]":
    return _organizations(user).exclude(Exists(_others(user)))


def _without_admin(user: User) -> "QuerySet[Organization]":
    others = _others(user)
    return _organizations(user).filter(Exists(others)).exclude(Exists(others.filter(role=ADMIN)))


def _agents(user: User) -> "QuerySet[Agent]":
    """Those that go with the account: the user's own, and of organizations with nobody else in them."""
    owners = [user.owner_id, *_alone_in(user).values_list("owner_id", flat=True)]
    return Agent.objects.filter(owner__in=owners).select_related("owner").order_by("owner__handle", "handle")


def _own_agents(user: User) -> Iterator[OwnAgent]:
    agents = list(_agents(user))
    lately = UsageDay.objects.filter(
        agent__in=[agent.pk for agent in agents], day__gt=datetime.now(UTC).date() - LATELY, queries__gt=0
    )
    others = lately.exclude(user=user).values("agent").annotate(n=Count("user", distinct=True))
    counts = dict(others.values_list("agent", "n"))
    return (OwnAgent(agent, counts.get(agent.pk, 0)) for agent in agents)


def _unfinished_runs(user: int) -> "QuerySet[Run, UUID]":
    runs = Run.objects.filter(session__owner=user, parent=None, status__in=UNFINISHED)
    return runs.order_by("pk").values_list("pk", flat=True)


def _remove_all(user_id: int) -> None:
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return
    for session in Session.objects.filter(owner=user).iterator():
        delete_session(session=session)
    for agent in _agents(user):
        delete_agent(agent=agent)
    _remove_files(user)
    with transaction.atomic():
        _remove_user(user)
    _forget_browsers(user_id)


def _remove_files(user: User) -> None:
    """Attachments that no conversation had, or was left with, and uploads that were not completed."""
    ids = list(Embed.objects.filter(owner=user).values_list("pk", flat=True))
    for first in range(0, len(ids), BATCH):
        async_to_sync(remove_unreferenced)(ids=ids[first : first + BATCH], older_than=timedelta(0))
    for upload in user.uploads.select_related("file"):
        loosen(upload.file.path)
    async_to_sync(remove_loose_files)()


def _remove_user(user: User) -> None:
    alone = list(_alone_in(user))
    for organization in alone:
        organization.delete()
    own_type = ContentType.objects.get_for_model(User)
    about = LogEntry.objects.filter(content_type=own_type, object_id=str(user.pk))
    about.update(object_repr=f"deleted user {user.pk}")
    # With it all that refers to it goes, what was used among it. Owners go last: users and organizations need theirs.
    user.delete()
    Owner.objects.filter(pk__in=[user.owner_id, *(organization.owner_id for organization in alone)]).delete()


def _forget_browsers(user_id: int) -> None:
    """Signed-in browsers: their rows say who they were only once they are decoded."""
    for browser in BrowserSession.objects.filter(expire_date__gt=datetime.now(UTC)).iterator():
        if browser.get_decoded().get("_auth_user_id") == str(user_id):
            browser.delete()
