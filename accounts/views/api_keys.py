"""The page of a user's API keys: make one, see when each was used, revoke."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods

from accounts import actions
from accounts.access import key_for, live_keys, revoked_keys
from accounts.forms import NewApiKey
from accounts.models import ApiKey, User
from common.errors import FixieError, NotFound

# In the browser's session: the id of a key that its maker has not been shown yet.
UNSEEN = "unseen_api_key"


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
@sensitive_variables("new")
def api_keys(request: HttpRequest) -> HttpResponse:
    """The list (GET), which shows a key that was made just before; makes one (POST).

    The key is shown by the next page, once: neither a reload nor the way back shows it again or makes another.
    """
    assert isinstance(request.user, User)
    if request.method == "GET":
        return _page(request, request.user, NewApiKey(), new=_unseen(request, request.user))
    form = NewApiKey(request.POST)
    if not form.is_valid():
        return _page(request, request.user, form, status=400)
    try:
        new = actions.create_api_key(user=request.user, name=form.cleaned_data["name"], form=form.cleaned_data["form"])
    except FixieError as error:
        form.add_error("name", error.told())
        return _page(request, request.user, form, status=error.http_status)
    if new.made:
        request.session[UNSEEN] = new.key.pk
    return redirect("api_keys")


def _unseen(request: HttpRequest, user: User) -> actions.NewApiKey | None:
    key = live_keys(user).filter(pk=request.session.pop(UNSEEN, None)).first()
    return actions.signed_api_key(key=key) if key else None


def _page(
    request: HttpRequest, user: User, form: NewApiKey, *, new: actions.NewApiKey | None = None, status: int = 200
) -> HttpResponse:
    context = {
        "form": form,
        "new": new,
        "live": live_keys(user),
        "revoked": revoked_keys(user),
        "site_url": settings.SITE_URL,
    }
    return render(request, "keys/keys.html", context, status=status)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def revoke_api_key(request: HttpRequest, key: int) -> HttpResponse:
    """Asks (GET) and revokes (POST). The list's own dialog asks without a page of its own."""
    assert isinstance(request.user, User)
    found = _key_of(request.user, key)
    if request.method == "GET":
        return render(request, "keys/revoke.html", {"key": found})
    actions.revoke_api_key(key=found, by=request.user)
    messages.success(request, _("Revoked “%(name)s”.") % {"name": found.name})
    return redirect("api_keys")


def _key_of(user: User, key: int) -> ApiKey:
    try:
        return key_for(user, key)
    except NotFound as error:
        raise Http404(error.message) from None
