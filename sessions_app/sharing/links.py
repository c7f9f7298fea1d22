"""Links by which anybody reads a session: made, brought up to date, revoked, followed, and gone on from."""

import re
import secrets
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Min, OuterRef, Subquery
from django.db.models.functions import Left, Length, Now
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.errors import InvalidRequest, NotFound, SessionBusy
from embeds import rows
from registry.models import Agent
from sessions_app.access import MISSING
from sessions_app.actions import UNFINISHED
from sessions_app.attachments import shown_with
from sessions_app.branches.copying import copy_session
from sessions_app.frames import frame_of_message, frame_of_run
from sessions_app.models import Message, Run, Session, SessionEmbed, SharedLink, naming_agents
from sessions_app.sidebar.titles import FIRST_QUERY_LENGTH, titled

TOKEN_BYTES = 32
# What one page of a shared session holds at most.
MESSAGES_MAX = 200
CHARACTERS_MAX = 1_000_000
GONE = "This link no longer works."
_TOKEN = re.compile(r"[\w-]{43}", re.ASCII)


@transaction.atomic
def share_session(*, session: Session) -> SharedLink:
    """The link to the session, with all that has been answered so far; one that is there keeps its address.

    Raises InvalidRequest where nothing has been asked yet, SessionBusy where nothing has been answered yet.
    """
    # Two at once would make two links.
    locked = Session.objects.select_for_update(no_key=True).filter(pk=session.pk, deleted=None).first()
    if locked is None:
        raise NotFound(MISSING, field="session")
    if not locked.last_seq:
        raise InvalidRequest(_("There is nothing to share yet: nothing has been asked."), field="session")
    last_seq = _answered_up_to(locked)
    if not last_seq:
        raise SessionBusy(_("There is nothing to share yet. Wait for the first answer."), field="session")
    link = link_of(locked) or SharedLink(session=locked, token=secrets.token_urlsafe(TOKEN_BYTES))
    link.last_seq = last_seq
    link.save()
    link.refresh_from_db()
    return link


def _answered_up_to(session: Session) -> int:
    """The last message of which, and of all before it, nothing is still being answered: no turn is cut through."""
    unfinished = session.all_runs.filter(status__in=UNFINISHED, parent=None).aggregate(first=Min("query_seq"))["first"]
    end: int | None = unfinished
    last = session.last_seq
    while end is not None:
        last = end - 1
        # Answers of queries before that one which came while it was waiting.
        end = session.messages.filter(seq__gt=last, in_reply_to__lte=last).aggregate(first=Min("in_reply_to"))["first"]
    return last


def revoke_link(*, session: Session) -> None:
    """Nobody reads the session by its link any more. Once more changes nothing."""
    SharedLink.objects.filter(session=session, revoked=None).update(revoked=Now())


def link_of(session: Session) -> SharedLink | None:
    """The link by which the session can be read now."""
    return SharedLink.objects.filter(session=session, revoked=None).first()


def url_of(link: SharedLink) -> str:
    """The absolute address of what is shared."""
    return f"{settings.SITE_URL}{reverse('shared', args=[link.token])}"


def links_of(user: User) -> list[tuple[SharedLink, str]]:
    """The links by which others can read sessions of the user's, with the titles of these, newest first. One query."""
    first = Message.objects.filter(session=OuterRef("session"), seq=1).values(start=Left("text", FIRST_QUERY_LENGTH))
    links = SharedLink.objects.filter(session__owner=user, session__deleted=None, revoked=None)
    found = links.select_related("session").annotate(first_query=Subquery(first)).order_by("-created", "-pk")
    return [(link, _title(link)) for link in found]


def _title(link: SharedLink) -> str:
    session: Session = link.session
    first: str | None = link.first_query  # type: ignore[attr-defined]  # annotated
    return titled(name=session.name, title=session.title, first_query=first, handle=session.handle)


def followed(token: str) -> SharedLink:
    """The link with this token and its session. Raises NotFound, in the same words whatever is wrong with it."""
    found = SharedLink.objects.filter(token=token, revoked=None, session__deleted=None, session__owner__is_active=True)
    link = found.select_related("session__owner").first() if _TOKEN.fullmatch(token) else None
    if link is None:
        raise NotFound(GONE, field="token")
    return link


@dataclass(frozen=True, slots=True)
class SharedPage:
    """Messages of a shared session and their runs, as frames; `last_seq` is the link's."""

    messages: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    last_seq: int


def shared_page(link: SharedLink, *, since: int = 0) -> SharedPage:
    """A page of messages after number `since`, oldest first. The cost does not depend on the session's length."""
    messages = _messages(link, since)
    shown = shown_with(link.session_id, messages)
    found = naming_agents(Run.objects.filter(pk__in={message.run_id for message in messages}))
    return SharedPage(
        messages=[frame_of_message(message, shown)["message"] for message in messages],
        # What it used is its owner's affair.
        runs=[{**frame_of_run(run), "tokens": None} for run in found.order_by("query_seq")],
        last_seq=link.last_seq,
    )


def _messages(link: SharedLink, since: int) -> list[Message]:
    found = Message.objects.filter(session=link.session_id, seq__gt=since, seq__lte=link.last_seq).order_by("seq")
    total, last = 0, since
    for seq, size in found.values_list("seq", Length("text"))[:MESSAGES_MAX]:
        total += size
        if last > since and total > CHARACTERS_MAX:
            break
        last = seq
    return list(naming_agents(found.filter(seq__lte=last)))


def continue_shared(*, link: SharedLink, user: User) -> Session:
    """A session of `user`'s that begins with what the link shows. Raises PayloadTooLarge, SessionBusy, NotFound.

    Its embeds become the user's own, which takes no bytes, but counts as theirs. It tells nothing that the link does
    not show: no description, and no front agent that the user does not see.
    """
    messages = Message.objects.filter(session=link.session_id, seq__lte=link.last_seq).exclude(embed_keys=[])
    keys = {key for keys in messages.values_list("embed_keys", flat=True) for key in keys}
    embeds = SessionEmbed.objects.of(link.session_id, keys).values_list("embed_id", flat=True)
    own = {embed: _own(user, embed) for embed in {*embeds}}
    front = Agent.objects.visible_to(user).filter(pk__in=[link.session.agent_id]).first()
    return copy_session(
        link.session,
        before=link.last_seq + 1,
        own_embeds=own,
        owner=user,
        title=link.session.title,
        description="",
        agent_id=front.pk if front else None,
    )


def _own(user: User, embed: UUID) -> UUID:
    return rows.shared(user.pk, embed).pk
