"""The administrator's view of programs that may ask users to let them in. django-oauth-toolkit registers it."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import Application
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.oauth import APPLICATION_NAME_MAX
from common.long_lists import LongList

Application._meta.verbose_name, Application._meta.verbose_name_plural = _("program"), _("programs that sign in")


class ApplicationForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic at run time
    """A public client that uses authorization codes with PKCE: the one kind there is."""

    name = forms.CharField(
        max_length=APPLICATION_NAME_MAX, widget=UnfoldAdminTextInputWidget, help_text=_("What users are asked about.")
    )
    redirect_uris = forms.CharField(
        label=_("Ways back"),
        widget=UnfoldAdminTextareaWidget,
        help_text=_("Addresses, apart by spaces. http://127.0.0.1 and http://localhost stand for every port there."),
    )

    class Meta:
        model = Application
        fields = ("name", "client_id", "redirect_uris")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # A public client keeps no secret; the toolkit would make and hash one.
        self.instance.client_secret, self.instance.hash_client_secret = "", False
        self.instance.client_type = Application.CLIENT_PUBLIC
        self.instance.authorization_grant_type = Application.GRANT_AUTHORIZATION_CODE


class ApplicationAdmin(LongList):
    form = ApplicationForm
    list_display = ("name", "client_id", "redirect_uris", "created")
    search_fields = ("name", "client_id")
    ordering = ("-pk",)
    sorted_by: ClassVar = {"created": "pk"}
