"""The page between an administrator's choice and the act: what it needs to know, and to whom it happens."""

from collections.abc import Callable, Iterable
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.models import User
from common.errors import FixieError

ASKED = "asked"
NAMES_SHOWN = 20
REFUSALS_SHOWN = 5
REASON_MAX_LENGTH = 200


class Question(forms.Form):
    """A form without fields: whether to do it."""


class Reason(forms.Form):
    """Why it is done."""

    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_MAX_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("It is kept in the audit log."),
    )


def operator(request: HttpRequest) -> User:
    """Who uses the admin."""
    return cast(User, request.user)


class Operates:
    """For a ModelAdmin: actions that are the list's and those of one object's page alike.

    Both ask first; but for a list's action that is easily undone (`at_once`).
    """

    def operate(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any] | None,
        object_id: str | None,
        *,
        act: Callable[[Any, dict[str, Any]], object],
        title: str,
        button: str,
        form: type[forms.Form] = Question,
        explained: str = "",
        at_once: bool = False,
    ) -> HttpResponse:
        """Asks what `form` wants to know, then does `act` to each chosen object with what was answered."""
        chosen = self._chosen(request, queryset, object_id)
        options = self.opts  # type: ignore[attr-defined]
        page = f"admin:{options.app_label}_{options.model_name}"
        back = reverse(f"{page}_change", args=[object_id]) if object_id else reverse(f"{page}_changelist")
        is_answered = ASKED in request.POST or (at_once and object_id is None)
        sent = form(request.POST) if is_answered else form()
        if not sent.is_valid():
            return ask(self, request, sent, title=title, button=button, explained=explained, chosen=chosen, back=back)
        for_each(request, chosen, lambda each: act(each, sent.cleaned_data))
        return HttpResponseRedirect(back)

    def _chosen(self, request: HttpRequest, queryset: QuerySet[Any] | None, object_id: str | None) -> list[Any]:
        if object_id is None:
            return [] if queryset is None else list(queryset)
        found = self.get_object(request, object_id)  # type: ignore[attr-defined]
        if found is None:
            raise Http404
        return [found]


def ask(
    model_admin: Any,
    request: HttpRequest,
    form: forms.Form,
    *,
    title: str,
    button: str,
    explained: str = "",
    chosen: Iterable[Model] = (),
    back: str = "",
) -> HttpResponse:
    """The page with the form. For a bulk action `chosen` are the objects, which the page sends along."""
    objects = list(chosen)
    options = model_admin.opts
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": options,
        "title": title,
        "explained": explained,
        "form": form,
        "button": button,
        "asked": ASKED,
        "action": request.POST.get("action", "") if objects else "",
        "checkbox": ACTION_CHECKBOX_NAME,
        "ids": [each.pk for each in objects],
        "names": [str(each) for each in objects[:NAMES_SHOWN]],
        "more": max(0, len(objects) - NAMES_SHOWN),
        "back": back or reverse(f"admin:{options.app_label}_{options.model_name}_changelist"),
    }
    return TemplateResponse(request, "admin/ask.html", context)


def for_each(request: HttpRequest, chosen: Iterable[Any], act: Callable[[Any], object]) -> None:
    """Does `act` to each of the chosen, and tells for how many it went well and why not for the others."""
    done, refusals = 0, []
    for each in chosen:
        try:
            act(each)
            done += 1
        except FixieError as error:
            refusals.append(f"{each}: {error.told()}")
    if done:
        told = ngettext("Done for %(number)s.", "Done for %(number)s.", done) % {"number": done}
        messages.success(request, told)
    for refusal in refusals[:REFUSALS_SHOWN]:
        messages.error(request, refusal)
    if (more := len(refusals) - REFUSALS_SHOWN) > 0:
        told = ngettext("%(number)s more was refused.", "%(number)s more were refused.", more)
        messages.error(request, told % {"number": more})
