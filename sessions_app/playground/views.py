"""The playground: those who may change an agent ask it something, and see how it came to its answer."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.auth import Caller
from accounts.models import User
from common.db import run_db
from common.errors import FixieError, NotFound
from common.handles import parse_uuid
from registry.access import own_agent_for
from registry.models import Agent
from registry.specs import queries_of
from sessions_app import actions, posting
from sessions_app.models import Session
from sessions_app.playground.trace import Trace, run_for, session_name, session_of, trace_of, tried_in

SAMPLES_SHOWN = 4


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
async def playground(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Asks (POST) in a session of its own, by all rules of sessions, and shows the run that `run` names (GET)."""
    user = await request.auser()
    assert isinstance(user, User)
    try:
        agent = await run_db(own_agent_for, user, owner, handle)
    except NotFound as error:
        raise Http404(error.message) from None
    if request.method == "GET":
        return await run_db(_page, request, agent, await _trace(request, user, agent))
    text = request.POST.get("text", "")
    try:
        posted = await _ask(user, agent, text, anew="anew" in request.POST)
    except FixieError as error:
        return await run_db(_page, request, agent, None, text=text, error=error)
    return redirect(f"{reverse('playground', args=(owner, handle))}?run={posted.run}")


async def _trace(request: HttpRequest, user: User, agent: Agent) -> Trace | None:
    run_id = parse_uuid(request.GET.get("run", ""))
    run = await run_db(run_for, user, agent, run_id) if run_id else None
    return await trace_of(run, agent) if run else None


async def _ask(user: User, agent: Agent, text: str, *, anew: bool) -> posting.Posted:
    """Asks the agent. Raises FixieErrors; then no session is left behind that was made for this."""
    present = None if anew else await run_db(session_of, user, agent)
    if present is not None:
        return await _post(user, present, agent, text)
    made: Session = await run_db(actions.create_session, user=user, agent=agent, name=session_name(agent))
    try:
        return await _post(user, made, agent, text)
    except FixieError:
        await run_db(actions.delete_session, session=made)
        raise


async def _post(user: User, session: Session, agent: Agent, text: str) -> posting.Posted:
    caller = Caller(user_id=user.pk, jti=None)
    return await posting.post(caller, session.handle, text, agent=(agent.owner.handle, agent.handle))


def _page(
    request: HttpRequest, agent: Agent, trace: Trace | None, *, text: str = "", error: FixieError | None = None
) -> HttpResponse:
    session = _session(request, agent, trace)
    context = {
        "agent": agent,
        "trace": trace,
        "session": session,
        "tried": tried_in(session) if session else [],
        "samples": queries_of(agent, SAMPLES_SHOWN),
        "text": text or (trace.query if trace else ""),
        "error": error,
    }
    return render(request, "agents/playground.html", context, status=error.http_status if error else 200)


def _session(request: HttpRequest, agent: Agent, trace: Trace | None) -> Session | None:
    assert isinstance(request.user, User)
    return trace.run.session if trace else session_of(request.user, agent)
