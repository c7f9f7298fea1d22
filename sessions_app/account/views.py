"""`/account/export` and `/account/delete`: taking all of one's data away, and going; here, above all that keeps it."""

from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from accounts.data_exports import begin_export
from accounts.forms import DeleteAccount, PasswordAgain
from accounts.models import User
from accounts.recent_sign_in import asked_for_password, must_sign_in, password_form
from common.errors import InvalidRequest, RateLimited
from sessions_app.account import deletion
from sessions_app.account.data import account_zip


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def export_data(request: HttpRequest) -> HttpResponseBase:
    """What is in the file, and who may have it (GET); the file (POST)."""
    assert isinstance(request.user, User)
    form = password_form(request, request.user)
    if request.method == "GET":
        return _export_page(request, form)
    if must_sign_in(request, request.user) or (form is not None and not form.is_valid()):
        return _export_page(request, form, status=400)
    try:
        export = begin_export(user=request.user)
    except RateLimited as error:
        return _export_page(request, form, refusal=error.told(), status=error.http_status)
    name = f"fixie-{request.user.username}-{export.started:%Y-%m-%d}.zip"
    return StreamingHttpResponse(
        account_zip(request.user, export),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"', "X-Content-Type-Options": "nosniff"},
    )


def _export_page(
    request: HttpRequest, form: PasswordAgain | None, *, refusal: str = "", status: int = 200
) -> HttpResponse:
    assert isinstance(request.user, User)
    context = {"form": form, "must_sign_in": must_sign_in(request, request.user), "refusal": refusal}
    return render(request, "account/export.html", context, status=status)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def delete_account(request: HttpRequest) -> HttpResponse:
    """What goes, or what stands in the way (GET); the end of the account (POST)."""
    user = request.user
    assert isinstance(user, User)
    if request.method == "GET":
        return _delete_page(request, user)
    form, password = DeleteAccount(request.POST, user=user), asked_for_password(request, user)
    # Both, so that each says what is wrong with it.
    valid = [each.is_valid() for each in (form, password) if each is not None]
    if must_sign_in(request, user) or not all(valid):
        return _delete_page(request, user, form, password)
    try:
        deletion.delete_account(user=user, by=user)
    except InvalidRequest:  # which the page explains
        return _delete_page(request, user)
    logout(request)
    return redirect("account_deleted")


@require_GET
def account_deleted(request: HttpRequest) -> HttpResponse:
    """The farewell. It says nothing of whoever asks for it."""
    return render(request, "account/deleted.html")


def _delete_page(
    request: HttpRequest, user: User, form: DeleteAccount | None = None, password: PasswordAgain | None = None
) -> HttpResponse:
    context = {
        "form": form or DeleteAccount(user=user),
        "password": password or asked_for_password(request, user),
        "must_sign_in": must_sign_in(request, user),
        "deletion": deletion.deletion_of(user),
    }
    return render(request, "account/delete.html", context, status=400 if request.method == "POST" else 200)
