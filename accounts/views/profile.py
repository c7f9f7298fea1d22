"""`/account`: who one is here, and the way to everything that can be changed about it."""

from allauth.socialaccount.models import SocialAccount
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.access import live_keys, organizations_of
from accounts.actions import update_profile, usage_today
from accounts.forms import Profile
from accounts.models import User
from accounts.schemas import quota_out


@require_http_methods(["GET", "POST"])
@never_cache
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """The overview (GET), and what somebody is called (POST)."""
    assert isinstance(request.user, User)
    if request.method == "GET":
        return _page(request, request.user, Profile(instance=request.user))
    # Not the request's own user, whom a refused form would change on the page.
    form = Profile(request.POST, instance=User.objects.get(pk=request.user.pk))
    if not form.is_valid():
        return _page(request, request.user, form, status=400)
    update_profile(user=request.user, **form.cleaned_data)
    messages.success(request, _("Saved."))
    return redirect("account")


def _page(request: HttpRequest, user: User, form: Profile, status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "quota": quota_out(usage_today(user)),
        "keys": live_keys(user).count(),
        "organizations": organizations_of(user).count(),
        "sign_ins": SocialAccount.objects.filter(user=user).count(),
    }
    return render(request, "account/overview.html", context, status=status)
