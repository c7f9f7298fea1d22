"""REST: asking agents, sessions, messages, events and runs."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from ninja import Query, Router

from accounts.auth import Caller, user_of
from common.handles import check_handle, split_agent_id
from registry.access import agent_for
from registry.api import agents_router
from sessions_app import actions, posting, transcript
from sessions_app.access import MISSING, missing, session_for
from sessions_app.follow import Follower
from sessions_app.frames import frame_of_message, frame_of_run
from sessions_app.models import Message, Run, Session
from sessions_app.runner import execute
from sessions_app.schemas import (
    AnswerOut,
    AskIn,
    CanceledOut,
    MessageList,
    MessageOut,
    MessagePage,
    PostedOut,
    PostIn,
    RunOut,
    SessionIn,
    SessionList,
    SessionOut,
    SessionPage,
    Since,
)
from sessions_app.streams import Answer, events

sessions_router = Router()
runs_router = Router()
JSON_LINES = "application/jsonl"
# Seconds in which an answer that is complete goes out in one piece.
MOMENT = 0.02


class Request(HttpRequest):
    auth: Caller


# On the registry's router, because django-ninja wants all operations of one path on one router.
@agents_router.post("/{owner}/{handle}", response={200: AnswerOut}, summary="Ask an agent")
async def ask(request: Request, owner: str, handle: str, payload: AskIn) -> Any:
    """One JSON answer; with `stream` JSON lines, each with the whole response text so far."""
    agent = (check_handle(owner, field="owner"), check_handle(handle))
    text = posting.clean_text(payload.message.text, field="message.text")
    if payload.session is None:
        posted = await posting.ask(request.auth, agent, text)
    else:
        posted = await posting.post(request.auth, payload.session, text, agent=agent, if_busy=payload.if_busy)
    answer = Answer(posted)
    if payload.stream:
        return await in_lines(answer)
    return answer.line("response", await answer.whole())


async def in_lines(answer: Answer) -> HttpResponseBase:
    """JSON lines as they come; in one piece where all of them are there in a moment, which is quicker for both."""
    posted = answer.posted
    if posted.running and await execute.is_over_within(posted.run, MOMENT):
        return HttpResponse(b"".join([line async for line in answer.lines()]), content_type=JSON_LINES)
    return StreamingHttpResponse(answer.lines(), content_type=JSON_LINES)


@sessions_router.post("", response={201: SessionOut})
def create(request: Request, payload: SessionIn) -> tuple[int, SessionOut]:
    user = user_of(request.auth)
    agent = agent_for(user, *split_agent_id(payload.agent)) if payload.agent else None
    session = actions.create_session(user=user, agent=agent, name=payload.name, description=payload.description)
    session.refresh_from_db()
    return 201, session_out(session)


@sessions_router.get("", response=SessionList)
def list_sessions(request: Request, page: Query[SessionPage]) -> SessionList:
    """The caller's sessions, newest first. `after` is the `next` of the page before."""
    user = user_of(request.auth)
    if page.after is not None:
        session_for(user, page.after, field="after")
    mine = Session.objects.visible_to(user).select_related("agent__owner")
    found = list(mine.newest_first(after=page.after)[: page.limit + 1])
    return SessionList(
        items=[session_out(session) for session in found[: page.limit]],
        next=found[page.limit - 1].handle if len(found) > page.limit else None,
    )


@sessions_router.get("/{handle}", response=SessionOut)
def read(request: Request, handle: str) -> SessionOut:
    return session_out(session_for(user_of(request.auth), handle))


@sessions_router.delete("/{handle}", response={204: None})
def delete(request: Request, handle: str) -> tuple[int, None]:
    actions.delete_session(session=session_for(user_of(request.auth), handle))
    return 204, None


@sessions_router.get("/{handle}/messages", response=MessageList)
def messages(request: Request, handle: str, page: Query[MessagePage]) -> MessageList:
    """Messages after `since`, oldest first; or, with `before`, the last ones ahead of that number."""
    session = session_for(user_of(request.auth), handle)
    found = Message.objects.filter(session=session, seq__gt=page.since).select_related("agent__owner")
    if page.before is not None:
        items = list(found.filter(seq__lt=page.before).order_by("-seq")[: page.limit])[::-1]
    else:
        items = list(found.order_by("seq")[: page.limit])
    runs = Run.objects.filter(pk__in={message.run_id for message in items}).select_related("agent__owner")
    return MessageList(
        items=[MessageOut(**frame_of_message(message)["message"]) for message in items],
        runs=[RunOut(**frame_of_run(run)) for run in runs],
        last_seq=session.last_seq,
    )


@sessions_router.post("/{handle}/messages", response={202: PostedOut})
async def post(request: Request, handle: str, payload: PostIn) -> tuple[int, PostedOut]:
    posted = await posting.post(
        request.auth, handle, payload.text, if_busy=payload.if_busy, client_id=payload.client_id
    )
    return 202, PostedOut(session=posted.session, run=str(posted.run), seq=posted.seq, status=posted.status)


@sessions_router.get("/{handle}/events", response=None, summary="Follow a session (server-sent events)")
async def follow(request: Request, handle: str, start: Query[Since]) -> HttpResponseBase:
    """The frames of the WebSocket as server-sent events. `Last-Event-ID` wins over `since`."""
    place = await transcript.place_of(handle, user=request.auth.user_id, jti=request.auth.jti)
    if place is None:
        raise await missing(request.auth, MISSING, field="session")
    last = request.headers.get("Last-Event-ID", "")
    since = int(last) if last.isdecimal() and len(last) < 10 else start.since
    follower = Follower(place.session_id, min(since, place.last_seq))
    return StreamingHttpResponse(
        events(follower), content_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


@runs_router.post("/{run}/cancel", response={202: CanceledOut})
async def cancel(request: Request, run: str) -> tuple[int, CanceledOut]:
    """Stops a run. One that has ended stays as it is."""
    place = await posting.cancel(request.auth, run)
    return 202, CanceledOut(run=run, session=place.session, status=place.status)


def session_out(session: Session) -> SessionOut:
    return SessionOut(
        handle=session.handle,
        name=session.name,
        description=session.description,
        agent=session.agent.agent_id if session.agent else None,
        last_seq=session.last_seq,
        created=session.created,
        runs=[str(run) for run in session.runs],
    )
