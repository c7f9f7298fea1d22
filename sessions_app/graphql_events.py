"""Following a session over GraphQL: the frames of the WebSocket and of server-sent events as a subscription."""

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Annotated

import strawberry

from accounts.graphql import Info
from sessions_app import transcript
from sessions_app.access import MISSING, missing
from sessions_app.follow import Follower
from sessions_app.frames import Frame
from sessions_app.graphql import MessageType, check_since, message


@strawberry.type(description="The state of the work on one query.")
class RunEvent:
    run: strawberry.ID
    status: str = strawberry.field(description="queued, in_progress, completed, failed or canceled.")
    query: int = strawberry.field(description="`seq` of the message that it answers.")
    agent_id: str | None
    parent: strawberry.ID | None = strawberry.field(description="The run that asks, where an agent asks another.")
    error_code: str | None = strawberry.field(description="What went wrong; the run's error message says it in words.")


@strawberry.type(description="The next piece of the response being written.")
class DeltaEvent:
    run: strawberry.ID
    offset: int = strawberry.field(description="Where it begins, in Unicode code points.")
    text: str


@strawberry.type(description="The whole response so far, in place of what you have.")
class SnapshotEvent:
    run: strawberry.ID
    text: str


@strawberry.type(description="Everything up to `seq` has been told, and every unfinished run named.")
class SyncedEvent:
    seq: int


SessionEvent = Annotated[
    MessageType | RunEvent | DeltaEvent | SnapshotEvent | SyncedEvent, strawberry.union("SessionEvent")
]


@strawberry.type
class Subscription:
    @strawberry.subscription(
        description="The messages after `since`, what is being written, and then what happens, without end."
    )
    async def session_events(self, info: Info, handle: str, since: int = 0) -> AsyncGenerator[SessionEvent, None]:
        caller = info.context.caller
        place = await transcript.place_of(handle, user=caller.user_id, jti=caller.jti)
        if place is None:
            raise await missing(caller, MISSING, field="handle")
        follower = Follower(place.session_id, min(check_since(since), place.last_seq))
        try:
            async for frame in follower.follow():
                if (event := _event(handle, frame)) is not None:
                    yield event
        finally:
            follower.close()


def _event(session: str, frame: Frame) -> SessionEvent | None:
    """The frame as GraphQL has it; None for one that it does not know."""
    match frame["type"]:
        case "message":
            told = dict(frame["message"])
            created, embeds = datetime.fromisoformat(told.pop("created")), [int(key) for key in told.pop("embeds")]
            return message(session, **told, created=created, embeds=embeds)
        case "run":
            error = frame["error"]
            return RunEvent(
                run=strawberry.ID(frame["run"]),
                status=frame["status"],
                query=frame["query"],
                agent_id=frame["agent"],
                parent=strawberry.ID(frame["parent"]) if frame["parent"] else None,
                error_code=error["code"] if error else None,
            )
        case "delta":
            return DeltaEvent(run=strawberry.ID(frame["run"]), offset=frame["offset"], text=frame["text"])
        case "snapshot":
            return SnapshotEvent(run=strawberry.ID(frame["run"]), text=frame["text"])
        case "synced":
            return SyncedEvent(seq=frame["seq"])
    return None
