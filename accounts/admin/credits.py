"""The administrator's view of the ledger of credits."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from accounts.actions import grant_credits
from accounts.asking import operator
from accounts.exports import Exports
from accounts.models import CreditEntry
from common.errors import FixieError
from common.long_lists import LongList


class CreditForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic at run time
    class Meta:
        model = CreditEntry
        fields = ("user", "amount", "reason")
        help_texts = {
            "amount": _("Queries; less than 0 takes some back."),
            "reason": _("The user can read it."),
        }


@admin.register(CreditEntry)
class CreditEntryAdmin(Exports, LongList):
    """The ledger: lines are added, and never changed or deleted."""

    form = CreditForm
    fields = ("user", "amount", "reason")
    autocomplete_fields = ("user",)
    list_display = ("created", "user", "amount", "reason", "granted_by", "run")
    list_select_related = ("user", "granted_by")
    list_filter = (("user", AutocompleteSelectFilter), "created")
    search_fields = ("^user__username",)
    search_help_text = _("Beginning of a user's name")
    ordering = ("-pk",)
    sorted_by: ClassVar = {"created": "pk"}
    actions = ("export_chosen",)
    exported = ("created", "user.username", "amount", "reason", "granted_by", "run")

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        try:
            answer: HttpResponse = super().add_view(request, form_url, extra_context)
        except FixieError as error:
            self.message_user(request, error.told(), messages.ERROR)
            written = urlencode({name: request.POST.get(name, "") for name in self.fields})
            return HttpResponseRedirect(f"{request.path}?{written}")
        return answer

    def save_model(self, request: HttpRequest, obj: CreditEntry, form: Any, change: bool) -> None:
        obj.pk = grant_credits(user=obj.user, amount=obj.amount, reason=obj.reason, by=operator(request)).pk

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
