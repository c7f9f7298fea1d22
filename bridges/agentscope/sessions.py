"""Where a request is asked: in which session, and as which run, so that the same request again is the same run."""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import orjson
from django.conf import settings
from django.utils.crypto import salted_hmac

from accounts.auth import Caller
from bridges.agentscope.questions import Question
from bridges.agentscope.requests import RESPONSE_ID, Asked
from common.errors import FixieError, InvalidRequest, NotFound
from common.handles import parse_uuid, split_address, split_agent_id, split_agent_name
from sessions_app import fetching, posting, transcript
from sessions_app.access import missing
from sessions_app.posting import Posted
from sessions_app.transcript import RunPlace

PREFIX = "response_"
# Sessions that callers know by names of their own.
_NAMED = re.compile(r"x-[a-z2-7]{8}-[a-z2-7]{24}")
_OURS = re.compile(r"[a-z]+(?:-[a-z]+)+")
# Never to be changed: handles are made with it.
SALT = "bridges.agentscope.sessions"
_REFERENCE = re.compile(r"#\w+")


@dataclass(frozen=True, slots=True)
class Found:
    """A response of the caller's: its run, and where that stands."""

    run: UUID
    place: RunPlace


def response_id_of(run: UUID) -> str:
    """The id of a response for which the caller chose none."""
    return f"{PREFIX}{run}"


async def posted(caller: Caller, asked: Asked, agent: tuple[str, str] | None) -> Posted:
    """Asks `agent`, or else the session's, or the site's. Raises FixieErrors; then nothing is kept.

    The session is the caller's of that handle, or the one that they know by that name, which is made where there is
    none. The same `response_id` again is the query posted before.
    """
    # What came with the query may be gone when it is sent again.
    found = await _found_before(caller, asked.response_id) if asked.response_id else None
    if found is None:
        return await _posted(caller, asked, agent)
    return await _same(posted_as(found), asked)


async def response_of(caller: Caller, response_id: str) -> Found:
    """The caller's response with this id, which is ours or one that they chose. Raises NotFound, Unauthenticated."""
    found = await _found_before(caller, response_id)
    if found is None:
        raise await missing(caller, "There is no such response, or it is not yours.", field="response_id")
    return found


def posted_as(found: Found) -> Posted:
    place = found.place
    return Posted(place.session_id, place.session, found.run, place.query_seq, place.status, running=False, again=True)


async def _found_before(caller: Caller, response_id: str) -> Found | None:
    """The response that we gave this id, or the caller."""
    run = parse_uuid(response_id.removeprefix(PREFIX)) if response_id.startswith(PREFIX) else None
    found = await _found(caller, run) if run else None
    if found is None and RESPONSE_ID.fullmatch(response_id):
        found = await _found(caller, posting.run_id(caller, "", response_id))
    return found


async def _found(caller: Caller, run: UUID) -> Found | None:
    place = await transcript.run_of(run, user=caller.user_id, jti=caller.jti)
    return Found(run, place) if place else None


async def _posted(caller: Caller, asked: Asked, agent: tuple[str, str] | None) -> Posted:
    # A run of this id, whatever session it is in, is the same request.
    run = posting.run_id(caller, "", asked.response_id)
    embeds: Mapping[str, UUID] | None = None
    for handle in _handles(caller, asked):
        embeds = await _attached(caller, asked.query) if embeds is None else embeds
        try:
            found = await posting.post(caller, handle, asked.query.text, agent=agent, embeds=embeds, run=run)
            return await _same(found, asked)
        except NotFound as error:
            if error.details.get("field") != "session":
                raise
    whole = asked.whole()
    embeds = await _attached(caller, whole) if embeds is None or whole != asked.query else embeds
    session = _named_handle(caller, asked) if asked.session_id else None
    agent = agent or _addressed(asked.query.text)
    found = await posting.ask(caller, agent, whole.text, embeds=embeds, session=session, run=run)
    return await _same(found, asked)


def _handles(caller: Caller, asked: Asked) -> Iterator[str]:
    """The handles that the session may have, the likelier first."""
    name = asked.session_id
    if not name:
        return
    secrets = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    if _OURS.fullmatch(name) or (_NAMED.fullmatch(name) and _is_of_user(name, caller, asked.user_id, secrets)):
        yield name
    for secret in secrets:
        yield _named_handle(caller, asked, secret)


def _is_of_user(handle: str, caller: Caller, user_id: str, secrets: Sequence[str]) -> bool:
    """Whether a handle was made for this user of the caller's; all of them are a caller's who names no user."""
    return not user_id or any(handle.startswith(_user_prefix(caller, user_id, secret)) for secret in secrets)


def _named_handle(caller: Caller, asked: Asked, secret: str | None = None) -> str:
    """The handle of the session that a caller knows by a name of their own: made of who they are, so nobody else's.

    Of the users of one client nobody can tell another one's.
    """
    digest = _digest(secret, 15, caller.user_id, asked.user_id, asked.session_id)
    return f"{_user_prefix(caller, asked.user_id, secret)}{digest}"


def _user_prefix(caller: Caller, user_id: str, secret: str | None) -> str:
    return f"x-{_digest(secret, 5, caller.user_id, user_id)}-"


def _digest(secret: str | None, size: int, *parts: int | str) -> str:
    """`size` bytes in Base32 that only these parts have, and that nobody finds without `secret`, else SECRET_KEY."""
    mac = salted_hmac(SALT, orjson.dumps(parts), secret=secret, algorithm="sha256")
    return base64.b32encode(mac.digest()[:size]).decode().lower()


def _addressed(text: str) -> tuple[str, str]:
    named, _ = split_address(text)
    return split_agent_name(named) if named else split_agent_id(settings.DEFAULT_AGENT)


async def _attached(caller: Caller, question: Question) -> dict[str, UUID]:
    """What comes with the question, found or fetched. Raises FixieErrors that name the field of the request."""
    try:
        return await fetching.resolved(caller, {key: each.offer for key, each in question.attached.items()})
    except FixieError as error:
        key = str(error.details.get("field", "")).removeprefix("embeds.").partition(".")[0]
        if key in question.attached:
            error.details["field"] = question.attached[key].place
        elif error.details.get("field") == "embeds":
            error.details["field"] = "input"
        raise


async def _same(found: Posted, asked: Asked) -> Posted:
    """What was posted, or found. Raises InvalidRequest where its `response_id` belongs to another query."""
    if not found.again:
        return found
    before = await transcript.messages_after(found.session_id, found.seq - 1, limit=1)
    if not all(_is_query(query["message"]["text"], asked) for query in before):
        raise InvalidRequest("This id is of a response to another query; choose a new one.", field="response_id")
    return found


def _is_query(text: str, asked: Asked) -> bool:
    """Whether the stored `text` is what is asked, with or without the messages before it."""
    if _bare(text) == _bare(asked.query.text):
        return True
    try:
        return _bare(text) == _bare(asked.whole().text)
    except FixieError:  # what cannot be asked has not been asked
        return False


def _bare(text: str) -> str:
    """`text` without the keys of what is attached, which change on the way into a session."""
    return _REFERENCE.sub("#", text)
