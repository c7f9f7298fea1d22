"""What administrators fill in about an agent."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldAdminURLInputWidget,
)

from accounts.models import Owner
from common.errors import FixieError
from common.http import check_url
from registry.fields import PROTOCOLS
from registry.forms import LinesField, QueriesField


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only
    owner = forms.ModelChoiceField(
        Owner.objects.all(),
        label=_("Owner"),
        to_field_name="handle",
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Handle of a user or an organization."),
    )
    queries = QueriesField(widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}), help_text=_("One question a line."))
    capabilities = LinesField(
        label=_("Capabilities"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text=_("Types of tasks that it takes, one a line."),
    )
    protocol = forms.ChoiceField(
        label=_("Protocol"),
        required=False,
        choices=[(name, name or _("what is found at its address")) for name in PROTOCOLS],
        widget=UnfoldAdminSelectWidget,
        help_text=_("What it speaks. After a change its address is read again, in the background."),
    )
    deployment_url = forms.CharField(
        label=_("New address"),
        required=False,
        max_length=2000,
        widget=UnfoldAdminURLInputWidget,
        help_text=_("An address to run at from now on; its manifest is read in the background."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial["owner"] = self.instance.owner.handle

    def clean_deployment_url(self) -> str:
        url: str = self.cleaned_data["deployment_url"]
        try:
            if url:
                check_url(url)
        except FixieError as error:
            raise forms.ValidationError(error.told()) from None
        return url
