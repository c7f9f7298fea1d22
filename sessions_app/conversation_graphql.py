"""GraphQL of a conversation as a whole: branching and sharing, as `conversation_api` has them in REST."""

from datetime import datetime

import strawberry

from accounts.graphql import Context, Info
from common.db import run_db
from sessions_app.branches import branching
from sessions_app.graphql import SessionPayload, SessionType, payload_of, session_of
from sessions_app.models import SharedLink
from sessions_app.sharing import links


@strawberry.type(description="A link by which anybody reads a session.")
class SharedLinkType:
    url: str = strawberry.field(description="Whoever has it reads the session, until it is revoked.")
    last_seq: int = strawberry.field(description="The last message that is shown.")
    created: datetime


@strawberry.type
class Query:
    @strawberry.field(description="The link by which a session of yours can be read now; null where it is not shared.")
    async def shared_link(self, info: Info, session: str) -> SharedLinkType | None:
        return await run_db(_shared_link, info.context, session)


def _shared_link(context: Context, handle: str) -> SharedLinkType | None:
    link = links.link_of(session_of(context, handle, field="session"))
    return _told(link) if link else None


def _told(link: SharedLink) -> SharedLinkType:
    return SharedLinkType(url=links.url_of(link), last_seq=link.last_seq, created=link.created)


@strawberry.input
class BranchSessionInput:
    session: str
    seq: int = strawberry.field(description="The question that is asked in other words.")
    text: str
    client_id: str | None = strawberry.field(
        default=None, description="The same again asks nothing anew, and gives the branch of before."
    )


@strawberry.type(description="A branch, in which the question is being answered.")
class BranchPayload:
    session: SessionType
    run: strawberry.ID
    seq: int = strawberry.field(description="Of the new question, in the new session.")


@strawberry.type
class SharedLinkPayload:
    link: SharedLinkType


@strawberry.type
class Mutation:
    @strawberry.mutation(
        description="Makes a session that begins like this one, without its question `seq` and all after it, and asks "
        "`text` there. Does not wait for the answer."
    )
    async def branch_session(self, info: Info, branch_data: BranchSessionInput) -> BranchPayload | None:
        posted = await branching.branch(
            *(info.context.caller, branch_data.session, branch_data.seq, branch_data.text),
            client_id=branch_data.client_id,
        )
        session = await run_db(session_of, info.context, posted.session)
        return BranchPayload(session=payload_of(session).session, run=strawberry.ID(str(posted.run)), seq=posted.seq)

    @strawberry.mutation(
        description="The link, which from now on shows all that has been answered so far. One that is there keeps its "
        "address."
    )
    async def share_session(self, info: Info, session: str) -> SharedLinkPayload | None:
        return await run_db(_share, info.context, session)

    @strawberry.mutation(description="The link leads nowhere any more; sharing again makes another one.")
    async def revoke_shared_link(self, info: Info, session: str) -> SessionPayload | None:
        return await run_db(_revoke, info.context, session)


def _share(context: Context, handle: str) -> SharedLinkPayload:
    return SharedLinkPayload(link=_told(links.share_session(session=session_of(context, handle, field="session"))))


def _revoke(context: Context, handle: str) -> SessionPayload:
    session = session_of(context, handle, field="session")
    links.revoke_link(session=session)
    return payload_of(session)
