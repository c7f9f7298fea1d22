"""What the pages show: a user's sessions, questions to begin with, an agent, and a session's last messages."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left, Length

from accounts.models import User
from registry.access import owners_of
from registry.models import Agent, Revision
from registry.specs import queries_of
from sessions_app.attachments import shown_with
from sessions_app.frames import frame_of_message, frame_of_run
from sessions_app.models import Message, Run, Session

SESSIONS_PAGE = 50
STARTERS_MAX = 6
STARTERS_OF_AGENT = 2
SAMPLES_OF_AGENT = 12
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


@dataclass(frozen=True, slots=True)
class AgentPage:
    """An agent. `answers` is whether it can be asked now; `revision` is for those who may change it, else None."""

    agent: Agent
    answers: bool
    samples: list[str]
    revision: Revision | None
    mine: bool


def sessions_of(user: User, *, after: str | None = None) -> SessionPage:
    """A page of the user's sessions, newest first: those after the session `after`, else the first ones."""
    first_query = Message.objects.filter(session=OuterRef("pk"), seq=1)
    sessions = list(
        Session.objects.visible_to(user)
        .select_related("agent__owner")
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
    """Some sample questions of agents that the user sees."""
    agents = (
        Agent.objects.visible_to(user)
        .filter(current_revision__state="ready")
        .select_related("owner", "current_revision")
        .order_by("name", "pk")[:STARTERS_MAX]
    )
    starters = [Starter(agent, text) for agent in agents for text in _samples(agent)]
    # One question of every agent before a second one of any.
    starters.sort(key=lambda starter: _samples(starter.agent).index(starter.text))
    return starters[:STARTERS_MAX]


def _samples(agent: Agent) -> list[str]:
    revision = agent.current_revision
    return queries_of(revision.manifest if revision else None, STARTERS_OF_AGENT)


def agent_page(agent: Agent, user: User) -> AgentPage:
    """The page of an agent that comes with its owner and current revision."""
    revision = agent.current_revision
    mine = agent.owner_id in owners_of(user)
    return AgentPage(
        agent=agent,
        answers=revision is not None and revision.state == Revision.State.READY,
        samples=queries_of(revision.manifest if revision else None, SAMPLES_OF_AGENT),
        revision=revision if mine else None,
        mine=mine,
    )


def page_data(session: Session) -> dict[str, Any]:
    """What `<fixie-chat>` starts from: the last messages, and the runs they belong to.

    Frames have the shape of the socket's, so that the chat takes both in the same way. The cost does not
    depend on the length of the session.
    """
    messages = _last_messages(session)
    shown = shown_with(session.pk, messages)
    return {
        "handle": session.handle,
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
    found = Message.objects.filter(session=session, seq__gte=first).select_related("agent__owner")
    return list(found.order_by("seq")[: MESSAGES_MAX * 2])


def _runs(session: Session, shown: set[UUID]) -> QuerySet[Run]:
    ids = shown | set(session.runs)
    return Run.objects.filter(pk__in=ids).select_related("agent__owner").order_by("query_seq")


def _agent_id(agent: Agent | None) -> str | None:
    return agent.agent_id if agent else None
