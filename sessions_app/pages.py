"""What the pages show: questions to begin with, and a session's last messages."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Max, Q, QuerySet
from django.db.models.functions import Coalesce, Length

from accounts.actions import usage_today
from accounts.models import User
from accounts.schemas import quota_out
from registry.access import nearest_first
from registry.models import Agent, Revision
from registry.specs import queries_of
from sessions_app.attachments import shown_with
from sessions_app.branches.siblings import branches_of
from sessions_app.frames import frame_of_message, frame_of_run
from sessions_app.models import Message, Run, Session, naming_agents
from sessions_app.sidebar.titles import title_now

STARTERS_MAX = 6
STARTERS_OF_AGENT = 2
# Of so many agents: not all of them have sample questions.
STARTERS_AGENTS = 20
# What a session page holds at most; the chat loads earlier messages when it is asked to.
MESSAGES_MAX = 50
CHARACTERS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Starter:
    """A sample question that one click asks."""

    agent: Agent
    text: str


def starters_for(user: User | None) -> list[Starter]:
    """Some sample questions of agents that the user sees: first of those they may change, then of the site's own.

    For who is signed out, of published agents.
    """
    able = (
        Agent.objects.visible_to(user)
        .filter(current_revision__state=Revision.State.READY, enabled=True)
        .exclude(liveness__healthy=False)
        .select_related("owner", "current_revision")
    )
    agents = nearest_first(able, user)[:STARTERS_AGENTS]
    questions = [(agent, queries_of(agent, STARTERS_OF_AGENT)) for agent in agents]
    # One question of every agent before a second one of any.
    starters = [Starter(agent, texts[n]) for n in range(STARTERS_OF_AGENT) for agent, texts in questions if texts[n:]]
    return starters[:STARTERS_MAX]


def composer_data(user: User) -> dict[str, Any]:
    """What `<fixie-composer>` is told: limits, and what is left of the day's quota. One query."""
    return {
        "message_max_bytes": settings.MESSAGE_MAX_BYTES,
        "message_max_embeds": settings.MESSAGE_MAX_EMBEDS,
        "embed_max_bytes": settings.EMBED_MAX_BYTES,
        "quota": quota_out(usage_today(user)).model_dump(),
    }


def page_data(session: Session) -> dict[str, Any]:
    """What `<fixie-chat>` starts from: the last messages, and the runs they belong to.

    Frames have the shape of the socket's, so that the chat takes both in the same way. The cost does not
    depend on the length of the session.
    """
    messages = _last_messages(session)
    shown = shown_with(session.pk, messages)
    return {
        "handle": session.handle,
        "title": title_now(session),
        "pinned": session.pinned,
        "archived": session.archived,
        "agent": _agent_id(session.agent),
        **composer_data(session.owner),
        "next_embed_key": 1 + (session.embeds.aggregate(last=Max("key"))["last"] or 0),
        "messages": [frame_of_message(message, shown)["message"] for message in messages],
        "runs": [frame_of_run(run) for run in _runs(session, {message.run_id for message in messages})],
        "last_seq": messages[-1].seq if messages else 0,
        "branches": branches_of(session),
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
