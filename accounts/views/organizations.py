"""The pages of a user's organizations: make one, see who is in it, choose members and their roles, leave."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts import organizations as actions
from accounts.access import organization_for, organizations_of
from accounts.forms import NewMember, NewOrganization, OrganizationName
from accounts.models import Membership, Organization, User
from common.errors import FixieError, NotFound


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def organizations(request: HttpRequest) -> HttpResponse:
    """The list (GET), and a new one (POST)."""
    user = _user(request)
    form = NewOrganization(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = actions.create_organization(by=user, **form.cleaned_data)
        except FixieError as error:
            field = error.details.get("field")
            form.add_error(field if field in form.fields else None, error.told())
        else:
            messages.success(request, _("“%(name)s” is there.") % {"name": made.name})
            return redirect("account_organization", made.owner.handle)
    context = {"form": form, "organizations": organizations_of(user)}
    return render(request, "account/organizations.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def organization(request: HttpRequest, handle: str) -> HttpResponse:
    """One of them with its members (GET); gives it another name (POST)."""
    found = _found(request, handle)
    if request.method == "GET":
        return _page(request, found)
    form = OrganizationName(request.POST)
    if not form.is_valid():
        return _page(request, found, name_form=form)
    return _change(
        request,
        found,
        lambda: actions.rename_organization(organization=found, by=_user(request), name=form.cleaned_data["name"]),
        _("Saved."),
    )


@require_POST
@login_required
def set_member(request: HttpRequest, handle: str) -> HttpResponse:
    """Makes `username` a member with this `role`, or gives a member another one."""
    found = _found(request, handle)
    form = NewMember(request.POST)
    if not form.is_valid():
        return _page(request, found, member_form=form)
    username, role = form.cleaned_data["username"].strip(), Membership.Role(form.cleaned_data["role"])
    try:
        actions.set_member(organization=found, by=_user(request), username=username, role=role)
    except FixieError as error:
        form.add_error("username", error.told())
        return _page(request, found, member_form=form)
    messages.success(request, _("Saved: %(name)s.") % {"name": username})
    return redirect("account_organization", handle)


@require_POST
@login_required
def remove_member(request: HttpRequest, handle: str) -> HttpResponse:
    """Takes `username` out; oneself, to leave."""
    user, found, username = _user(request), _found(request, handle), request.POST.get("username", "")
    if username == user.username:
        said = _("You have left “%(name)s”.") % {"name": found.name}
    else:
        said = _("%(name)s is no longer a member.") % {"name": username}
    return _change(
        request,
        found,
        lambda: actions.remove_member(organization=found, by=user, username=username),
        said,
        after="account_organizations" if username == user.username else None,
    )


@require_POST
@login_required
def delete_organization(request: HttpRequest, handle: str) -> HttpResponse:
    """Deletes it; what is gone already, or was never theirs, leads back to those that are."""
    try:
        found = organization_for(_user(request), handle)
    except NotFound:
        messages.info(
            request, _("You are in no organization “%(handle)s”: perhaps it is deleted.") % {"handle": handle}
        )
        return redirect("account_organizations")
    return _change(
        request,
        found,
        lambda: actions.delete_organization(organization=found, by=_user(request)),
        _("Deleted “%(name)s”.") % {"name": found.name},
        after="account_organizations",
    )


def _change(
    request: HttpRequest, found: Organization, act: Callable[[], object], said: str, *, after: str | None = None
) -> HttpResponse:
    """Does it, and goes back to the page, or to `after`, with a message of what was done or why not."""
    try:
        act()
    except FixieError as error:
        messages.error(request, error.told())
        return redirect("account_organization", found.owner.handle)
    messages.success(request, said)
    return redirect(after) if after else redirect("account_organization", found.owner.handle)


def _page(
    request: HttpRequest,
    found: Organization,
    *,
    name_form: OrganizationName | None = None,
    member_form: NewMember | None = None,
) -> HttpResponse:
    context = {
        "organization": found,
        "is_admin": found.own_role == Membership.Role.ADMIN,  # type: ignore[attr-defined]  # annotated
        "members": found.membership_set.select_related("user").order_by("user__username"),
        "name_form": name_form or OrganizationName(initial={"name": found.name}),
        "member_form": member_form or NewMember(),
    }
    return render(request, "account/organization.html", context, status=400 if name_form or member_form else 200)


def _found(request: HttpRequest, handle: str) -> Organization:
    try:
        return organization_for(_user(request), handle)
    except NotFound as error:
        raise Http404(error.message) from None


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user
