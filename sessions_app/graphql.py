"""Conversations over GraphQL: the documents of the published client, and a session's events as they happen."""

from datetime import datetime
from uuid import UUID

import strawberry
import strawberry_django
from django.db.models import Q
from strawberry import auto

from accounts.graphql import PAGE, Context, Info, Limit, check_limit
from common.db import run_db
from common.errors import InvalidRequest
from embeds.graphql import EmbedType
from embeds.models import Embed
from registry.access import agent_for
from registry.graphql import names_of
from sessions_app import actions, posting
from sessions_app.access import session_for
from sessions_app.models import Message, Session, SessionEmbed, naming_agents
from sessions_app.streams import Answer


@strawberry.type(description="Who sent a message.")
class SenderType:
    handle: str = strawberry.field(description="`user` is the session's owner; else the agent's handle.")
    agent_id: str | None = strawberry.field(description="owner/handle of the agent.")


@strawberry.type(description="A message by its name.")
class MessageReference:
    id: strawberry.ID
    seq: int


@strawberry.type(description="One entry of a session.")
class MessageType:
    id: strawberry.ID = strawberry.field(description="session:seq")
    seq: int = strawberry.field(description="Counts 1, 2, 3 … in the session.")
    text: str
    type: str = strawberry.field(description="query, response, error, or the kind of a step.")
    sent_by: SenderType | None = strawberry.field(description="Null where the agent is gone.")
    in_reply_to: MessageReference | None
    timestamp: datetime
    run: strawberry.ID
    embed_keys: list[int] = strawberry.field(description="Which of the session's embeds belong to it.")


def message(
    session: str,
    *,
    seq: int,
    kind: str,
    text: str,
    run: UUID | str,
    agent: str | None,
    in_reply_to: int | None,
    created: datetime,
    embeds: list[int],
) -> MessageType:
    """A message as clients see it, in the words of its frame."""
    return MessageType(
        id=_message_id(session, seq),
        seq=seq,
        text=text,
        type=kind,
        sent_by=_sender(kind, agent),
        in_reply_to=MessageReference(id=_message_id(session, in_reply_to), seq=in_reply_to) if in_reply_to else None,
        timestamp=created,
        run=strawberry.ID(str(run)),
        embed_keys=embeds,
    )


def _message_id(session: str, seq: int) -> strawberry.ID:
    # Clients that cache objects by type and id keep the messages of all sessions in one place.
    return strawberry.ID(f"{session}:{seq}")


def _sender(kind: str, agent: str | None) -> SenderType | None:
    if agent is not None:
        return SenderType(handle=agent.partition("/")[2], agent_id=agent)
    return SenderType(handle="user", agent_id=None) if kind == Message.Kind.QUERY else None


@strawberry_django.type(SessionEmbed, description="An embed under the key that `#KEY` names in the session's texts.")
class SessionEmbedType:
    key: int

    @strawberry.field(graphql_type=EmbedType)
    def embed(self, root: strawberry.Parent[SessionEmbed]) -> Embed:
        return root.embed


@strawberry_django.type(Session, description="One conversation.")
class SessionType:
    """Loaded with its front agent and that one's owner."""

    handle: auto
    name: auto
    description: auto
    created: auto
    last_seq: auto

    @strawberry.field(description="owner/handle of the agent that answers.")
    def frontend_agent_id(self, root: strawberry.Parent[Session]) -> str | None:
        return root.agent.agent_id if root.agent else None

    @strawberry.field(graphql_type=list[SessionEmbedType], description="By their keys.")
    async def embeds(self, root: strawberry.Parent[Session], info: Info, limit: Limit = PAGE) -> list[SessionEmbed]:
        found = await info.context.load(_embeds, root.pk)
        return found[: check_limit(limit)]

    @strawberry.field(description="The last ones, oldest first; or with `since` those that follow that seq.")
    async def messages(
        self, root: strawberry.Parent[Session], info: Info, since: int | None = None, limit: Limit = PAGE
    ) -> list[MessageType]:
        first = max(0, root.last_seq - check_limit(limit)) if since is None else check_since(since)
        return await info.context.load(_messages, (root.pk, root.handle, first, first + limit))


def check_since(since: int) -> int:
    if since < 0:
        raise InvalidRequest("since must be a number of 0 or more.", field="since")
    return since


def _messages(context: Context, ranges: list[tuple[int, str, int, int]]) -> list[list[MessageType]]:
    """For each (session, handle, after, to) the messages with these numbers, which have no gaps."""
    wanted = [Q(session=session, seq__gt=after, seq__lte=to) for session, _, after, to in ranges]
    rows = naming_agents(Message.objects.filter(Q(*wanted, _connector=Q.OR))).order_by("session", "seq")
    found: dict[int, list[Message]] = {}
    for row in rows:
        found.setdefault(row.session_id, []).append(row)
    return [
        [_message_of(handle, row) for row in found.get(session, []) if after < row.seq <= to]
        for session, handle, after, to in ranges
    ]


def _message_of(session: str, row: Message) -> MessageType:
    return message(
        session,
        seq=row.seq,
        kind=row.kind,
        text=row.text,
        run=row.run_id,
        agent=row.agent.agent_id if row.agent else None,
        in_reply_to=row.in_reply_to,
        created=row.created,
        embeds=row.embed_keys,
    )


def _embeds(context: Context, sessions: list[int]) -> list[list[SessionEmbed]]:
    found: dict[int, list[SessionEmbed]] = {}
    rows = SessionEmbed.objects.filter(session__in=sessions).select_related("embed__blob", "embed__owner")
    for row in rows.order_by("key"):
        found.setdefault(row.session_id, []).append(row)
    return [found.get(session, []) for session in sessions]


@strawberry.type
class Query:
    @strawberry.field(graphql_type=SessionType | None)
    async def session_by_handle(self, info: Info, handle: str) -> Session:
        return await run_db(session_of, info.context, handle)

    @strawberry.field(
        graphql_type=list[SessionType],
        description="Yours, newest first; `after` is the last handle of the page before.",
    )
    async def all_sessions(self, info: Info, limit: Limit = PAGE, after: str | None = None) -> list[Session]:
        return await run_db(_all_sessions, info.context, check_limit(limit), after)


def session_of(context: Context, handle: str, field: str = "handle") -> Session:
    """A session of the caller's. Raises NotFound, naming the `field` that has the handle."""
    return session_for(context.user(), handle, field=field)


def _all_sessions(context: Context, limit: int, after: str | None) -> list[Session]:
    user = context.user()
    if after is not None:
        session_for(user, after, field="after")
    mine = naming_agents(Session.objects.visible_to(user))
    return list(mine.newest_first(after=after)[:limit])


@strawberry.input
class CreateSessionInput:
    frontend_agent_id: str | None = strawberry.field(
        default=None, description="owner/handle of the agent that answers, or a handle of your own."
    )
    name: str | None = None
    description: str | None = None


@strawberry.input
class SendSessionMessageInput:
    session: str
    text: str


@strawberry.type
class SessionPayload:
    session: SessionType


@strawberry.type
class ResponseType:
    text: str


@strawberry.type
class ResponsePayload:
    response: ResponseType


@strawberry.type
class Mutation:
    @strawberry.mutation
    async def create_session(self, info: Info, session_data: CreateSessionInput | None = None) -> SessionPayload | None:
        return await run_db(_create_session, info.context, session_data or CreateSessionInput())

    @strawberry.mutation
    async def delete_session(self, info: Info, handle: str) -> SessionPayload | None:
        return await run_db(_delete_session, info.context, handle)

    @strawberry.mutation(description="Asks, and waits for the whole answer.")
    async def send_session_message(self, info: Info, message_data: SendSessionMessageInput) -> ResponsePayload | None:
        posted = await posting.post(info.context.caller, message_data.session, message_data.text)
        return ResponsePayload(response=ResponseType(text=await Answer(posted).whole()))


def _create_session(context: Context, data: CreateSessionInput) -> SessionPayload:
    user = context.user()
    agent = None
    if data.frontend_agent_id is not None:
        agent = agent_for(user, *names_of(user, data.frontend_agent_id))
    made = actions.create_session(user=user, agent=agent, name=data.name or "", description=data.description or "")
    return payload_of(session_for(user, made.handle))


def _delete_session(context: Context, handle: str) -> SessionPayload:
    session = session_of(context, handle)
    actions.delete_session(session=session)
    return payload_of(session)


def payload_of(session: Session) -> SessionPayload:
    return SessionPayload(session=session)  # type: ignore[arg-type]  # strawberry-django resolves models
