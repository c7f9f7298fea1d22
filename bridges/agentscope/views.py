"""`/process`: asking, reading on where a stream broke, and tasks that nobody waits for."""

import time
from datetime import datetime

import orjson
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from accounts.auth import Caller, caller_of
from bridges.agentscope.positions import START, Position, position_of
from bridges.agentscope.requests import Asked, asked
from bridges.agentscope.sessions import Found, posted, posted_as, response_id_of, response_of
from bridges.agentscope.streams import Reading
from common.errors import InvalidRequest
from common.handles import check_handle
from registry.transports.agentscope.models import AgentResponse
from sessions_app.follow import ENDED
from sessions_app.posting import Posted

JSON = "application/json"
# A task's states in the words of the published package.
TASK_STATES = {"queued": "pending", "in_progress": "running", "completed": "finished"}


@csrf_exempt  # `caller_of` asks for the token itself, of browsers
@require_POST
async def process(request: HttpRequest, owner: str | None = None, handle: str | None = None) -> HttpResponseBase:
    """Asks an agent: its answer as server-sent events, or with `stream: false` the response once it has ended."""
    caller = await caller_of(request)
    ask = await asked(request)
    place = _place(request)
    if place is not START and ask.response_id is None:
        raise InvalidRequest("Last-Event-ID needs the response_id of the stream to go on with.", field="response_id")
    found = await posted(caller, ask, _agent(owner, handle))
    if not found.again:  # the stream that broke had not come this far
        place = START
    # Whoever only reads along must not take the answer from the one who asked.
    cancels = ask.cancel_on_disconnect and not found.again
    reading = Reading(caller, found, _response(ask, found), place=place, cancels=cancels)
    if ask.stream:
        return await reading.streamed()
    return HttpResponse(await reading.whole(), content_type=JSON)


@require_GET
async def resume(request: HttpRequest, response_id: str, **agent: str) -> HttpResponseBase:
    """The events of a response after `Last-Event-ID`, or all of them."""
    caller = await caller_of(request)
    found = await response_of(caller, response_id)
    return await Reading(
        caller, posted_as(found), _stored_response(response_id, found), place=_place(request)
    ).streamed()


@csrf_exempt
@require_POST
async def submit(request: HttpRequest, owner: str | None = None, handle: str | None = None) -> HttpResponseBase:
    """Asks an agent, and answers at once with the `task_id`, which is the id of the response as well."""
    caller = await caller_of(request)
    ask = await asked(request)
    found = await posted(caller, ask, _agent(owner, handle))
    task = {
        "task_id": ask.response_id or response_id_of(found.run),
        "status": "submitted",
        "session_id": found.session,
        "message": "The task is taken on; GET the same address with its task_id tells how it goes.",
    }
    return HttpResponse(orjson.dumps(task), status=202, content_type=JSON)


@require_GET
async def task(request: HttpRequest, task_id: str, **agent: str) -> HttpResponseBase:
    """Where a task stands: `pending`, `running`, `finished` with its response as `result`, or `error` with why."""
    caller = await caller_of(request)
    found = await response_of(caller, task_id)
    state = found.place.status
    document: dict[str, object] = {"task_id": task_id, "status": TASK_STATES.get(state, "error"), "result": None}
    if state in ENDED:
        response = await _ended_response(caller, task_id, found)
        document |= {"result": response} if state == "completed" else _gone_wrong(response)
    return HttpResponse(orjson.dumps(document), content_type=JSON)


def _gone_wrong(response: dict[str, object]) -> dict[str, object]:
    error = response["error"]
    assert isinstance(error, dict)
    return {"result": error["message"], "response": response}


async def _ended_response(caller: Caller, response_id: str, found: Found) -> dict[str, object]:
    reading = Reading(caller, posted_as(found), _stored_response(response_id, found))
    response: dict[str, object] = orjson.loads(await reading.whole())
    return response


def _agent(owner: str | None, handle: str | None) -> tuple[str, str] | None:
    if owner is None or handle is None:
        return None
    return check_handle(owner, field="owner"), check_handle(handle)


def _place(request: HttpRequest) -> Position:
    last = request.headers.get("Last-Event-ID")
    return position_of(last) if last else START


def _response(ask: Asked, found: Posted) -> AgentResponse:
    response_id = ask.response_id or response_id_of(found.run)
    response = AgentResponse(id=response_id, session_id=found.session, created_at=int(time.time()))
    return response.model_copy(update={"ignored": ask.ignored}) if ask.ignored else response


def _stored_response(response_id: str, found: Found) -> AgentResponse:
    created: datetime = found.place.created
    return AgentResponse(id=response_id, session_id=found.place.session, created_at=int(created.timestamp()))
