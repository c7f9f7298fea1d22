"""Pages of one user in the admin: what is beside the form, choosing keys to revoke, signing in as them."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from accounts.admin.user_forms import KeysForm
from accounts.admin.user_panels import panels_of
from accounts.asking import ASKED, Reason, ask, operator
from accounts.models import User
from accounts.operating import revoke_keys
from accounts.sign_in_as import begin
from common.errors import FixieError


class UserPages:
    """For the ModelAdmin of users."""

    change_form_outer_after_template = "admin/accounts/user_panels.html"

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        user = self.get_object(request, object_id)  # type: ignore[attr-defined]
        beside = {} if user is None else {"panels": panels_of(user)}
        answer: HttpResponse = super().change_view(  # type: ignore[misc]
            request, object_id, form_url, {**(extra_context or {}), **beside}
        )
        return answer

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Revoke keys"), permissions=["revoke"], url_path="keys"
    )
    def choose_keys(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user = self._user(request, object_id)
        form = KeysForm(request.POST if ASKED in request.POST else None, user=user)
        if not form.is_valid():
            explained = gettext("Programs that use them are refused at once. This cannot be undone.")
            return self._ask(request, user, form, title=gettext("Revoke keys"), explained=explained)
        try:
            number = revoke_keys(user=user, by=operator(request), keys=form.cleaned_data["keys"])
            told = ngettext("%(number)s key is revoked.", "%(number)s keys are revoked.", number)
            messages.success(request, told % {"number": number})
        except FixieError as error:
            messages.error(request, error.told())
        return HttpResponseRedirect(_page_of(user))

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Sign in as"), permissions=["sign_in_as"], url_path="sign-in-as"
    )
    def sign_in_as(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user = self._user(request, object_id)
        form = Reason(request.POST if ASKED in request.POST else None)
        if not form.is_valid():
            explained = gettext(
                "You will see the site as they do, their conversations too, for an hour at most. What you do is done "
                "in their name and logged with yours. Their keys, password and e-mail stay out of reach."
            )
            return self._ask(request, user, form, title=gettext("Sign in as"), explained=explained)
        try:
            begin(request, by=operator(request), user=user, reason=form.cleaned_data["reason"])
        except FixieError as error:
            messages.error(request, error.told())
            return HttpResponseRedirect(_page_of(user))
        return redirect("home")

    def _ask(self, request: HttpRequest, user: User, form: Any, *, title: str, explained: str) -> HttpResponse:
        return ask(
            *(self, request, form),
            title=title,
            button=title,
            explained=explained,
            chosen=[user],
            back=_page_of(user),
        )

    def _user(self, request: HttpRequest, object_id: str) -> User:
        user: User | None = self.get_object(request, object_id)  # type: ignore[attr-defined]
        if user is None:
            raise Http404
        return user


def _page_of(user: User) -> str:
    return reverse("admin:accounts_user_change", args=[user.pk])
