"""REST of a user's sessions as lists show them: listing, searching, naming, and deleting so that it can be undone."""

from dataclasses import asdict
from datetime import datetime

from ninja import Field, Query, Router, Schema

from accounts.auth import Authenticated, Caller, user_of
from common.db import run_db
from sessions_app import actions, frames
from sessions_app.access import session_for
from sessions_app.api import sessions_router
from sessions_app.models import Session
from sessions_app.runner.live import hub
from sessions_app.sidebar import hiding
from sessions_app.sidebar.listing import PAGE, Listed, Listing, listed_now, listing
from sessions_app.sidebar.search import LIMIT, search

# Before the routes of single sessions, so that these addresses are nobody's handle.
listing_router = Router()


class ListedOut(Schema):
    handle: str
    title: str = Field(description="Its name, or the title that a model gave it, or how its first query begins.")
    name: str = Field(description="What its owner calls it; empty where they leave that to the site.")
    agent: str | None
    created: datetime
    active: datetime = Field(description="When it was last asked something.")
    pinned: bool
    archived: bool
    busy: bool = Field(description="Whether something is being answered in it.")


class ListingOut(Schema):
    pinned: list[ListedOut] = Field(description="On the first page only.")
    items: list[ListedOut]
    next: str | None = Field(description="Pass as `after` for the next page.")


class ListingPage(Schema):
    archived: bool = False
    after: str | None = Field(None, max_length=40, description="The `next` of the page before.")
    limit: int = Field(PAGE, ge=1, le=200)


class SessionChanges(Schema):
    """What is left out, or null, stays as it is."""

    name: str | None = Field(None, max_length=200, description="Empty leaves the naming to the site.")
    pinned: bool | None = None
    archived: bool | None = None


class Sought(Schema):
    q: str = Field(
        "", description="Words, all of which must be there; the last may be a beginning. In quotes, a phrase."
    )
    limit: int = Field(LIMIT, ge=1, le=50)


class PartOut(Schema):
    text: str
    hit: bool


class HitOut(Schema):
    session: str
    title: str
    archived: bool
    seq: int | None = Field(description="The last message that has it; null where only the title does.")
    parts: list[PartOut] = Field(description="The place in the message, or the title, in pieces.")
    created: datetime = Field(description="Of the message.")


class HitList(Schema):
    items: list[HitOut]


@listing_router.get("/recent", response=ListingOut, summary="Sessions by when they were last asked")
def recent(request: Authenticated, page: Query[ListingPage]) -> ListingOut:
    """The caller's sessions, the last asked first; those that are archived only where they are asked for."""
    return listing_out(listing(user_of(request.auth), **page.model_dump()))


@listing_router.get("/search", response=HitList, summary="Search in sessions")
async def find(request: Authenticated, sought: Query[Sought]) -> HitList:
    """The caller's sessions with these words in a query, an answer or the title; the last asked first."""
    user = await run_db(user_of, request.auth)
    hits = await search(user.pk, sought.q, limit=sought.limit)
    return HitList(items=[HitOut(**asdict(hit)) for hit in hits])


# On the router of `api`, because django-ninja wants all operations of one path on one router.
@sessions_router.patch("/{handle}", response=ListedOut)
async def change(request: Authenticated, handle: str, payload: SessionChanges) -> ListedOut:
    """Names, pins or archives a session."""
    session, row = await run_db(_change, request.auth, handle, payload)
    if payload.name is not None:
        hub().publish(session.pk, frames.session_frame(handle=handle, title=row.title))
    return ListedOut(**asdict(row))


def _change(caller: Caller, handle: str, payload: SessionChanges) -> tuple[Session, Listed]:
    found = session_for(user_of(caller), handle)
    session = actions.change_session(session=found, **payload.model_dump())
    return session, listed_now(session)


@listing_router.post("/{handle}/delete", response={204: None}, summary="Delete a session, with a way back")
async def hide(request: Authenticated, handle: str) -> tuple[int, None]:
    """It is gone for everybody, and what is at work in it is stopped; for ten minutes it can be restored."""
    await hiding.hide(request.auth, handle)
    return 204, None


@listing_router.post("/{handle}/restore", response=ListedOut)
async def restore(request: Authenticated, handle: str) -> ListedOut:
    """Brings back a session that was deleted less than ten minutes ago."""
    session = await hiding.restore(request.auth, handle)
    return ListedOut(**asdict(await run_db(listed_now, session)))


def listing_out(found: Listing) -> ListingOut:
    return ListingOut(
        pinned=[ListedOut(**asdict(each)) for each in found.pinned],
        items=[ListedOut(**asdict(each)) for each in found.items],
        next=found.next,
    )
