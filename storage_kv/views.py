"""The pages of User Storage: what agents keep about the user who is signed in, to read and to delete."""

from urllib.parse import quote

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from accounts.models import User
from common.errors import InvalidRequest, NotFound
from storage_kv import actions, pages
from storage_kv.access import Storage, users_storage
from storage_kv.conditions import Condition
from storage_kv.models import StoredValue
from storage_kv.representations import HARMLESS
from storage_kv.requests import BYTES, checked_key


@require_GET
@never_cache
@login_required
def storages(request: HttpRequest) -> HttpResponse:
    """Which agents keep something about the user, and how much."""
    kept = pages.all_kept(_user(request))
    context = {"kept": kept, "bytes": sum(each.bytes for each in kept), "bytes_max": settings.STORAGE_MAX_BYTES}
    return render(request, "storage/storages.html", context)


@require_GET
@never_cache
@login_required
def storage(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """The keys that one agent keeps about the user."""
    after = request.GET.get("after", "").replace("\0", "")
    page = pages.storage_page(_user(request), _storage(request, owner, handle), after=after)
    return render(request, "storage/storage.html", {"page": page, "after": after})


@require_GET
@never_cache
@login_required
def value(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """The value under `key`."""
    found = _storage(request, owner, handle)
    page = pages.value_page(_user(request), found, _value(request, found))
    return render(request, "storage/value.html", {"page": page})


@require_GET
@never_cache
@login_required
def download(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """The bytes under `key`, as a file: nothing of it may run as a part of this site."""
    stored = _value(request, _storage(request, owner, handle))
    name = stored.key.rpartition("/")[2] or "value"
    headers = {**HARMLESS, "Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}"}
    return HttpResponse(bytes(stored.value), content_type=stored.content_type or BYTES, headers=headers)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def delete_value(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Asks (GET) and deletes the value under `key` (POST)."""
    found, key = _storage(request, owner, handle), _key(request)
    if request.method == "GET":
        context = {"kept": pages.kept_by(_user(request), found), "key": _value(request, found).key}
        return render(request, "storage/delete.html", context)
    try:
        actions.delete_value(storage=found, key=key, condition=Condition())
        messages.success(request, _("Deleted “%(key)s”.") % {"key": _short(key)})
    except NotFound:  # sent twice, or the agent itself was quicker
        messages.info(request, _("“%(key)s” was deleted already.") % {"key": _short(key)})
    return _back(found, owner, handle)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def forget(request: HttpRequest, owner: str, handle: str) -> HttpResponse:
    """Asks (GET) and deletes all that the agent keeps about the user (POST)."""
    found = _storage(request, owner, handle)
    if request.method == "GET":
        return render(request, "storage/forget.html", {"kept": pages.kept_by(_user(request), found)})
    actions.forget(storage=found)
    messages.success(request, _("%(agent)s has forgotten you.") % {"agent": f"{owner}/{handle}"})
    return redirect("storages")


def _back(storage: Storage, owner: str, handle: str) -> HttpResponse:
    """To the other keys; where there are none, to the other agents, for this one may be nothing of theirs any more."""
    if storage.usage().filter(keys__gt=0).exists():
        return redirect("agent_storage", owner, handle)
    return redirect("storages")


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _storage(request: HttpRequest, owner: str, handle: str) -> Storage:
    try:
        return users_storage(_user(request), owner, handle)
    except NotFound as error:
        raise Http404(error.message) from None


def _value(request: HttpRequest, storage: Storage) -> StoredValue:
    stored = storage.values().filter(key=_key(request)).first()
    if stored is None:
        raise Http404("There is no value under this key.")
    return stored


def _key(request: HttpRequest) -> str:
    """The key in the address, of POSTs too: a form's field would not keep its line breaks."""
    try:
        return checked_key(request.GET.get("key", ""), field="key")
    except InvalidRequest as error:
        raise Http404(error.message) from None


def _short(key: str) -> str:
    return Truncator(key).chars(80)
