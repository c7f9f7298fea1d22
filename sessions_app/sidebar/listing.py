"""A user's sessions as the sidebar lists them: the last asked first, pinned ones apart, archived ones elsewhere."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import groupby

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from accounts.models import User
from common.errors import InvalidRequest
from sessions_app.models import Message, Session, SessionQuerySet, naming_agents
from sessions_app.sidebar.titles import FIRST_QUERY_LENGTH, title_now, titled

PAGE = 40
PINNED_MAX = 100
_PLACE = re.compile(r"(\d{1,17})\.(\d{1,18})")


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in a list. `busy`: something is being answered in it."""

    handle: str
    title: str
    name: str
    agent: str | None
    created: datetime
    active: datetime
    pinned: bool
    archived: bool
    busy: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """Sessions, the last asked first. `pinned` stand apart, on the first page; `next` is where to go on."""

    pinned: list[Listed]
    items: list[Listed]
    next: str | None


def listing(user: User, *, archived: bool = False, after: str | None = None, limit: int = PAGE) -> Listing:
    """A page of the user's sessions. `after` is the `next` of the page before. Raises InvalidRequest."""
    mine = with_first_queries(Session.objects.visible_to(user)).order_by("-active", "-pk")
    rest = mine.filter(archived=True) if archived else mine.filter(archived=False, pinned=False)
    found = list(rest.filter(_beyond(after))[: limit + 1])
    pinned = mine.filter(archived=False, pinned=True)[:PINNED_MAX] if after is None and not archived else ()
    return Listing(
        pinned=[listed(session) for session in pinned],
        items=[listed(session) for session in found[:limit]],
        next=_place(found[limit - 1]) if len(found) > limit else None,
    )


def with_first_queries(sessions: SessionQuerySet) -> "QuerySet[Session]":
    """With their front agents, and in `first_query` how the first query of each begins; for `listed`."""
    first = Message.objects.filter(session=OuterRef("pk"), seq=1).values(start=Left("text", FIRST_QUERY_LENGTH))
    return naming_agents(sessions).annotate(first_query=Subquery(first))


def listed(session: Session) -> Listed:
    """One of `with_first_queries` as lists show it."""
    first: str | None = session.first_query  # type: ignore[attr-defined]  # annotated
    title = titled(name=session.name, title=session.title, first_query=first, handle=session.handle)
    return _listed(session, title)


def listed_now(session: Session) -> Listed:
    """A session as lists show it."""
    return _listed(session, title_now(session))


def _listed(session: Session, title: str) -> Listed:
    return Listed(
        handle=session.handle,
        title=title,
        name=session.name,
        agent=session.agent.agent_id if session.agent else None,
        created=session.created,
        active=session.active,
        pinned=session.pinned,
        archived=session.archived,
        busy=bool(session.runs),
    )


def _place(session: Session) -> str:
    """Not the session itself: asked something meanwhile, it stands elsewhere."""
    return f"{int(session.active.timestamp()) * 1_000_000 + session.active.microsecond}.{session.pk}"


def _beyond(after: str | None) -> Q:
    if after is None:
        return Q()
    match = _PLACE.fullmatch(after)
    if match is None:
        raise InvalidRequest("after must be the `next` of the page before.", field="after")
    active = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(match[1]))
    return Q(active__lt=active) | Q(active=active, pk__lt=int(match[2]))


@dataclass(frozen=True, slots=True)
class Days:
    """Sessions under one heading of the list."""

    name: str
    rows: list[Listed]


def by_days(rows: Sequence[Listed], *, zone: tzinfo, now: datetime | None = None) -> list[Days]:
    """Rows, the last asked first, under headings: today, yesterday, the last 7 and 30 days, then months.

    The same as `sessions-by-day.js` makes of them, for who has no script, and until it has come.
    """
    today = (now or datetime.now(UTC)).astimezone(zone).date()
    named = groupby(rows, key=lambda row: _days_name(row.active.astimezone(zone).date(), today))
    return [Days(name, list(found)) for name, found in named]


def _days_name(day: date, today: date) -> str:
    age = (today - day).days
    if age <= 0:
        return _("Today")
    if age == 1:
        return _("Yesterday")
    if age <= 7:
        return _("Previous 7 days")
    if age <= 30:
        return _("Previous 30 days")
    return date_format(day, "F Y")
