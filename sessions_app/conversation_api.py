"""REST of what is done with whole conversations: branching, sharing, exporting."""

from datetime import datetime
from typing import Literal

from django.http.response import HttpResponseBase
from ninja import Field, Router, Schema

from accounts.auth import Authenticated, Caller, user_of
from common.db import run_db
from sessions_app import fetching
from sessions_app.access import session_for
from sessions_app.api import offers
from sessions_app.branches import branching
from sessions_app.models import Session, SharedLink
from sessions_app.schemas import SEQ_MAX, MessageIn
from sessions_app.sharing import exporting, links
from sessions_app.sidebar.titles import title_now

conversation_router = Router()


class BranchIn(MessageIn):
    seq: int = Field(ge=1, le=SEQ_MAX, description="The question that is asked in other words.")
    client_id: str | None = Field(None, max_length=200)


class BranchOut(Schema):
    session: str = Field(description="The new session.")
    run: str
    seq: int = Field(description="Of the new question, in the new session.")


class LinkOut(Schema):
    url: str = Field(description="Whoever has it reads the session, until it is revoked.")
    last_seq: int = Field(description="The last message that is shown.")
    created: datetime


class SharedOut(Schema):
    link: LinkOut | None
    last_seq: int = Field(description="The session's last message.")


@conversation_router.post("/{handle}/branches", response={201: BranchOut}, summary="Ask in other words, in a branch")
async def branch(request: Authenticated, handle: str, payload: BranchIn) -> tuple[int, BranchOut]:
    """Makes a session that begins like this one, without its question `seq` and all after it, and asks `text` there."""
    embeds = await fetching.resolved(request.auth, offers(payload.embeds))
    posted = await branching.branch(
        request.auth, handle, payload.seq, payload.text, embeds=embeds, client_id=payload.client_id
    )
    return 201, BranchOut(session=posted.session, run=str(posted.run), seq=posted.seq)


@conversation_router.post(
    "/{handle}/share", response={200: LinkOut}, summary="Share a session, or update what is shared"
)
def share(request: Authenticated, handle: str) -> LinkOut:
    """The link, which from now on shows all that has been answered so far. One that is there keeps its address."""
    return link_out(links.share_session(session=session_for(user_of(request.auth), handle)))


@conversation_router.get("/{handle}/share", response=SharedOut)
def shared(request: Authenticated, handle: str) -> SharedOut:
    """Whether the session can be read by a link now."""
    session = session_for(user_of(request.auth), handle)
    link = links.link_of(session)
    return SharedOut(link=link_out(link) if link else None, last_seq=session.last_seq)


@conversation_router.delete("/{handle}/share", response={204: None}, summary="Stop sharing a session")
def revoke(request: Authenticated, handle: str) -> tuple[int, None]:
    """The link leads nowhere any more; sharing again makes another one."""
    links.revoke_link(session=session_for(user_of(request.auth), handle))
    return 204, None


@conversation_router.get("/{handle}/export", response=None, summary="Export a session")
async def export(request: Authenticated, handle: str, format: Literal["json", "markdown"] = "json") -> HttpResponseBase:
    """The whole session as a file."""
    session, title = await run_db(_titled, request.auth, handle)
    return exporting.download(session, title, "md" if format == "markdown" else "json")


def _titled(caller: Caller, handle: str) -> tuple[Session, str]:
    session = session_for(user_of(caller), handle)
    return session, title_now(session)


def link_out(link: SharedLink) -> LinkOut:
    return LinkOut(url=links.url_of(link), last_seq=link.last_seq, created=link.created)
