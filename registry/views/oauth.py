"""`/oauth`, where other services send users back to for the agent that sent them there."""

import re

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.auth import Caller, caller_of, user_of
from common.db import run_db
from common.errors import FixieError, InvalidRequest, Unauthenticated
from registry import oauth
from registry.specs import AgentSpec

WORDS_MAX = 2000
ERROR_CODE = re.compile(r"[a-z_]{1,40}")


@require_GET
@never_cache
async def oauth_return(request: HttpRequest) -> HttpResponse:
    """Hands `state` and `code` to the agent that `state` names, and shows what it says.

    The code is good once, and the agent checks that `state` is the one it gave this user, so that following a
    stranger's link changes nothing.
    """
    try:
        caller = await caller_of(request)
    except Unauthenticated:
        return redirect_to_login(request.get_full_path())
    state, spec = request.GET.get("state", ""), None
    try:
        spec = await run_db(_spec, caller, state)
        words = await oauth.hand_over(spec, user_id=caller.user_id, state=state, code=_code_in(request))
    except FixieError as error:
        return await run_db(_page, request, spec, error=error)
    return await run_db(_page, request, spec, words=words)


def _spec(caller: Caller, state: str) -> AgentSpec:
    return oauth.spec_for(user_of(caller), state)


def _code_in(request: HttpRequest) -> str:
    """The code to hand over. Raises InvalidRequest that says why there is none."""
    if error := request.GET.get("error"):
        # The rest of what the service says is left out: anybody may have written this address.
        known = error if ERROR_CODE.fullmatch(error) else "unknown"
        raise InvalidRequest(_refusal(known), field="error", value=known)
    if not (code := request.GET.get("code", "")):
        raise InvalidRequest(_("The address has no code in it."), field="code")
    return code


def _refusal(code: str) -> str:
    if code == "access_denied":
        return _("You did not allow it there, so nothing has changed.")
    return _("The other service refused: %(code)s.") % {"code": code}


def _page(
    request: HttpRequest, spec: AgentSpec | None, *, words: str = "", error: FixieError | None = None
) -> HttpResponse:
    context = {"agent_id": spec.agent_id if spec else None, "words": words.strip()[:WORDS_MAX], "error": error}
    return render(request, "oauth/outcome.html", context, status=error.http_status if error else 200)
