"""What the pages show: a user's sessions, questions to begin with, and a session's last messages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Max, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce, Left, Length

from accounts.models import User
from registry.access import owners_of
from registry.models import Agent, Revision
from registry.specs import queries_of
from sessions_app.attachments import shown_with
from sessions_app.frames import frame_of_message, frame_of_run
from sessions_app.models import Message, Run, Session, naming_agents

SESSIONS_PAGE = 50
STARTERS_MAX = 6
STARTERS_OF_AGENT = 2
# Of so many agents: not all of them have sample questions.
STARTERS_AGENTS = 20
# What a session page holds at most; the chat loads earlier messages when it is asked to.
MESSAGES_MAX = 50
CHARACTERS_MAX = 1_000_000
FIRST_QUERY_LENGTH = 160


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session in the list. `title` is its name, or how its first query begins, or its handle."""

    handle: str
    title: str
    agent: str | None
    created: datetime


@dataclass(frozen=True, slots=True)
class SessionPage:
    """`older` is the handle to go on after, where there are more sessions."""

    rows: list[SessionRow]
    older: str | None


@dataclass(frozen=True, slots=True)
class Starter:
    """A sample question that one click asks."""

    agent: Agent
    text: str


def sessions_of(user: User, *, after: str | None = None) -> SessionPage:
    """A page of the user's sessions, newest first: those after the session `after`, else the first ones."""
    first_query = Message.objects.filter(session=OuterRef("pk"), seq=1)
    sessions = list(
        naming_agents(Session.objects.visible_to(user))
        .newest_first(after=after)
        .annotate(first_query=Subquery(first_query.values(start=Left("text", FIRST_QUERY_LENGTH))))[: SESSIONS_PAGE + 1]
    )
    page = sessions[:SESSIONS_PAGE]
    return SessionPage(
        rows=[_row(session, session.first_query) for session in page],  # type: ignore[attr-defined]  # annotated
        older=page[-1].handle if len(sessions) > SESSIONS_PAGE else None,
    )


def _row(session: Session, first_query: str | None) -> SessionRow:
    return SessionRow(
        handle=session.handle,
        title=session.name or " ".join((first_query or "").split()) or session.handle,
        agent=_agent_id(session.agent),
        created=session.created,
    )


def title_of(session: Session) -> str:
    """The session's title, as in the list."""
    # Without LIMIT (`first`): so many messages are number 1 that PostgreSQL would look for any, in the whole table.
    texts = session.messages.filter(seq=1).values_list(Left("text", FIRST_QUERY_LENGTH), flat=True)
    first = next(iter(texts), None)
    return _row(session, first).title


def starters_for(user: User) -> list[Starter]:
    """Some sample questions of agents that the user sees: first of those they may change, then by name."""
    mine = Case(When(owner__in=owners_of(user), then=0), default=1)
    agents = (
        Agent.objects.visible_to(user)
        .filter(current_revision__state=Revision.State.READY, enabled=True)
        .exclude(liveness__healthy=False)
        .select_related("owner", "current_revision")
        .order_by(mine, "name", "pk")[:STARTERS_AGENTS]
    )
    questions = [(agent, queries_of(agent, STARTERS_OF_AGENT)) for agent in agents]
    # One question of every agent before a second one of any.
    starters = [Starter(agent, texts[n]) for n in range(STARTERS_OF_AGENT) for agent, texts in questions if texts[n:]]
    return starters[:STARTERS_MAX]


def page_data(session: Session) -> dict[str, Any]:
    """What `<fixie-chat>` starts from: the last messages, and the runs they belong to.

    Frames have the shape of the socket's, so that the chat takes both in the same way. The cost does not
    depend on the length of the session.
    """
    messages = _last_messages(session)
    shown = shown_with(session.pk, messages)
    return {
        "handle": session.handle,
        "agent": _agent_id(session.agent),
        "message_max_bytes": settings.MESSAGE_MAX_BYTES,
        "message_max_embeds": settings.MESSAGE_MAX_EMBEDS,
        "embed_max_bytes": settings.EMBED_MAX_BYTES,
        "next_embed_key": 1 + (session.embeds.aggregate(last=Max("key"))["last"] or 0),
        "messages": [frame_of_message(message, shown)["message"] for message in messages],
        "runs": [frame_of_run(run) for run in _runs(session, {message.run_id for message in messages})],
        "last_seq": messages[-1].seq if messages else 0,
    }


def _last_messages(session: Session) -> list[Message]:
    sizes = Message.objects.filter(session=session).order_by("-seq").values_list("seq", Length("text"))
    total = 0
    first = 0
    for seq, size in sizes[:MESSAGES_MAX]:
        total += size
        if first and total > CHARACTERS_MAX:
            break
        first = seq
    found = naming_agents(Message.objects.filter(session=session, seq__gte=first))
    return list(found.order_by("seq")[: MESSAGES_MAX * 2])


def _runs(session: Session, shown: set[UUID]) -> QuerySet[Run]:
    """The runs with these ids and those unfinished, each with its whole tree."""
    ids = shown | set(session.runs)
    # As a list: by these few ids each index is used, by a subquery all runs of the session would be read.
    tops = list(Run.objects.filter(pk__in=ids).values_list(Coalesce("root_id", "pk"), flat=True).distinct())
    return naming_agents(Run.objects.filter(Q(pk__in=tops) | Q(root__in=tops))).order_by("query_seq")


def _agent_id(agent: Agent | None) -> str | None:
    return agent.agent_id if agent else None
