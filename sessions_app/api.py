"""REST: asking agents, sessions, messages, events and runs."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from ninja import Query, Router

from accounts.auth import Acting, Authenticated, Caller, PrincipalAuth, user_of
from accounts.tokens import CallClaims
from common.db import run_db
from common.errors import NotFound
from common.handles import check_handle, split_agent_id
from common.texts import clean_text
from embeds.schemas import embed_out
from registry.access import agent_for
from registry.api import agents_router
from registry.models import Agent
from sessions_app import actions, asking_again, attachments, calling, fetching, posting, stopping, transcript
from sessions_app.access import MISSING, missing, session_for
from sessions_app.follow import Follower
from sessions_app.frames import frame_of_message, frame_of_run
from sessions_app.models import Message, Run, Session, SessionEmbed, naming_agents
from sessions_app.runner import execute
from sessions_app.schemas import (
    AnswerOut,
    AskAgainIn,
    AskIn,
    BeginIn,
    CanceledOut,
    EmbedIn,
    MessageList,
    MessageOut,
    MessagePage,
    PostedOut,
    PostIn,
    RunOut,
    SessionEmbedList,
    SessionEmbedOut,
    SessionIn,
    SessionList,
    SessionOut,
    SessionPage,
    Since,
    StoppedOut,
)
from sessions_app.streams import Answer, events, refusal_line

sessions_router = Router()
runs_router = Router()
JSON_LINES = "application/jsonl"
# Seconds in which an answer that is complete goes out in one piece.
MOMENT = 0.02
# What the published client has in place of an agent where a session has none of its own.
NO_AGENT = "None"


# On the registry's router, because django-ninja wants all operations of one path on one router.
@agents_router.post("/{owner}/{handle}", response={200: AnswerOut}, auth=PrincipalAuth(), summary="Ask an agent")
async def ask(request: Acting, owner: str, handle: str, payload: AskIn) -> Any:
    """One JSON answer; with `stream` JSON lines, each with the whole response text so far.

    An agent that asks with the token of a call is answered in that call's session, in a run below its own. The same
    `Idempotency-Key` again gives the same answer.
    """
    caller = request.auth
    if isinstance(caller, CallClaims):
        return await _asked_by_agent(caller, f"{owner}/{handle}", payload, key=_idempotency_key(request))
    return await _asked(caller, (check_handle(owner, field="owner"), check_handle(handle)), payload)


@agents_router.post("/{name}", response={200: AnswerOut}, auth=PrincipalAuth(), summary="Ask an agent of your own")
async def ask_by_name(request: Acting, name: str, payload: AskIn) -> Any:
    """The same by the handle alone. `None` asks the session's own agent, or the site's where it has none.

    For an agent it is one of its owner's, else one of the site's.
    """
    caller = request.auth
    if isinstance(caller, CallClaims):
        return await _asked_by_agent(caller, name, payload, key=_idempotency_key(request))
    if name == NO_AGENT:
        return await _asked_nobody(caller, payload)
    user = await run_db(user_of, caller)
    return await _asked(caller, (user.username, check_handle(name)), payload)


def _idempotency_key(request: Acting) -> str | None:
    return request.headers.get("Idempotency-Key")


async def _asked_by_agent(claims: CallClaims, agent: str, payload: AskIn, *, key: str | None) -> Any:
    text = clean_text(payload.message.text, field="message.text")
    await calling.check(claims, payload.session)
    user = Caller(claims.user_id, jti=None)
    embeds = await fetching.resolved(user, offers(payload.message.embeds), field="message.embeds")
    return await _answered(await calling.ask(claims, agent, text, embeds=embeds, idempotency_key=key), payload)


async def _asked_nobody(caller: Caller, payload: AskIn) -> Any:
    """As `_asked`; but where nobody answers in the session, a stream says so, as an agent would.

    The published client shows nothing of a refusal but its status, and here a person has to be told what to do.
    """
    try:
        return await _asked(caller, None, payload)
    except NotFound as error:
        if not payload.stream or error.details.get("field") != "agent":
            raise
        return HttpResponse(refusal_line(payload.session, error), content_type=JSON_LINES)


async def _asked(caller: Caller, agent: tuple[str, str] | None, payload: AskIn) -> Any:
    text = clean_text(payload.message.text, field="message.text")
    embeds = await fetching.resolved(caller, offers(payload.message.embeds), field="message.embeds")
    if payload.session is None:
        posted = await posting.ask(caller, agent or split_agent_id(settings.DEFAULT_AGENT), text, embeds=embeds)
    else:
        posted = await posting.post(caller, payload.session, text, agent=agent, embeds=embeds, if_busy=payload.if_busy)
    return await _answered(posted, payload)


async def _answered(posted: posting.Posted, payload: AskIn) -> Any:
    answer = Answer(posted)
    if payload.stream:
        return await in_lines(answer)
    return answer.line("response", await answer.whole(), answer.embeds)


async def in_lines(answer: Answer) -> HttpResponseBase:
    """JSON lines as they come; in one piece where all of them are there in a moment, which is quicker for both."""
    posted = answer.posted
    if posted.running and await execute.is_over_within(posted.run, MOMENT):
        return HttpResponse(b"".join([line async for line in answer.lines()]), content_type=JSON_LINES)
    return StreamingHttpResponse(answer.lines(), content_type=JSON_LINES)


@sessions_router.post("", response={201: SessionOut})
def create(request: Authenticated, payload: SessionIn) -> tuple[int, SessionOut]:
    user = user_of(request.auth)
    agent = agent_for(user, *split_agent_id(payload.agent)) if payload.agent else None
    session = actions.create_session(user=user, agent=agent, name=payload.name, description=payload.description)
    session.refresh_from_db()
    return 201, session_out(session)


@sessions_router.post("/begin", response={202: PostedOut}, summary="Begin a session with a question")
async def begin(request: Authenticated, payload: BeginIn) -> tuple[int, PostedOut]:
    """Makes a session and asks its first question, both or neither. The same `client_id` again begins no other one."""
    front = await run_db(_front, request.auth, payload.agent) if payload.agent else None
    embeds = await fetching.resolved(request.auth, offers(payload.embeds))
    posted = await posting.begin(request.auth, payload.text, front=front, embeds=embeds, client_id=payload.client_id)
    return 202, posted_out(posted)


def _front(caller: Caller, agent_id: str) -> Agent:
    return agent_for(user_of(caller), *split_agent_id(agent_id))


@sessions_router.get("", response=SessionList)
def list_sessions(request: Authenticated, page: Query[SessionPage]) -> SessionList:
    """The caller's sessions, newest first. `after` is the `next` of the page before."""
    user = user_of(request.auth)
    if page.after is not None:
        session_for(user, page.after, field="after")
    mine = naming_agents(Session.objects.visible_to(user))
    found = list(mine.newest_first(after=page.after)[: page.limit + 1])
    return SessionList(
        items=[session_out(session) for session in found[: page.limit]],
        next=found[page.limit - 1].handle if len(found) > page.limit else None,
    )


@sessions_router.get("/{handle}", response=SessionOut)
def read(request: Authenticated, handle: str) -> SessionOut:
    return session_out(session_for(user_of(request.auth), handle))


@sessions_router.delete("/{handle}", response={204: None})
def delete(request: Authenticated, handle: str) -> tuple[int, None]:
    actions.delete_session(session=session_for(user_of(request.auth), handle))
    return 204, None


@sessions_router.get("/{handle}/messages", response=MessageList)
def messages(request: Authenticated, handle: str, page: Query[MessagePage]) -> MessageList:
    """Messages after `since`, oldest first; or, with `before`, the last ones ahead of that number."""
    session = session_for(user_of(request.auth), handle)
    found = naming_agents(Message.objects.filter(session=session, seq__gt=page.since))
    if page.before is not None:
        items = list(found.filter(seq__lt=page.before).order_by("-seq")[: page.limit])[::-1]
    else:
        items = list(found.order_by("seq")[: page.limit])
    shown = attachments.shown_with(session.pk, items)
    runs = naming_agents(Run.objects.filter(pk__in={message.run_id for message in items}))
    return MessageList(
        items=[MessageOut(**frame_of_message(message, shown)["message"]) for message in items],
        runs=[RunOut(**frame_of_run(run)) for run in runs],
        last_seq=session.last_seq,
    )


@sessions_router.get("/{handle}/embeds", response=SessionEmbedList)
def embeds(request: Authenticated, handle: str) -> SessionEmbedList:
    """All embeds of a session, by key."""
    session = session_for(user_of(request.auth), handle)
    found = session.embeds.order_by("key").select_related("embed__blob", "embed__owner")
    return SessionEmbedList(items=[session_embed_out(each) for each in found])


@sessions_router.post("/{handle}/messages", response={202: PostedOut})
async def post(request: Authenticated, handle: str, payload: PostIn) -> tuple[int, PostedOut]:
    embeds = await fetching.resolved(request.auth, offers(payload.embeds))
    posted = await posting.post(
        request.auth, handle, payload.text, embeds=embeds, if_busy=payload.if_busy, client_id=payload.client_id
    )
    return 202, posted_out(posted)


@sessions_router.get("/{handle}/events", response=None, summary="Follow a session (server-sent events)")
async def follow(request: Authenticated, handle: str, start: Query[Since]) -> HttpResponseBase:
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
async def cancel(request: Authenticated, run: str) -> tuple[int, CanceledOut]:
    """Stops a run and all runs below it, and says which have ended. One that has ended before stays as it is."""
    stopped = await stopping.cancel(request.auth, run)
    runs = [
        StoppedOut(run=str(each.run), agent=each.agent, acknowledged=each.acknowledged)
        for each in await stopping.acknowledged(stopped.runs)
    ]
    return 202, CanceledOut(run=run, session=stopped.place.session, status=stopped.place.status, runs=runs)


@runs_router.post("/{run}/ask", response={202: PostedOut}, summary="Ask somebody else")
async def ask_again(request: Authenticated, run: str, payload: AskAgainIn) -> tuple[int, PostedOut]:
    """Asks the query of a run again, of another agent, to which the Router will send your queries like it."""
    posted = await asking_again.ask_again(request.auth, run, payload.agent, client_id=payload.client_id)
    return 202, posted_out(posted)


def posted_out(posted: posting.Posted) -> PostedOut:
    return PostedOut(session=posted.session, run=str(posted.run), seq=posted.seq, status=posted.status)


def offers(embeds: dict[str, EmbedIn]) -> dict[str, fetching.Offer]:
    return {key: fetching.Offer(embed.id, embed.content_type, embed.uri) for key, embed in embeds.items()}


def session_embed_out(each: SessionEmbed) -> SessionEmbedOut:
    return SessionEmbedOut(key=each.key, owner=each.embed.owner.username, **embed_out(each.embed).dict())


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
