"""What administrators fill in about people and organizations."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _
from unfold.forms import UserChangeForm, UserCreationForm
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.actions import CREDITS_MAX, REASON_MAX_LENGTH
from accounts.models import Membership, Organization, Owner, User
from common.handles import validate_handle

INT_MAX = 2**31 - 1
TOKENS_MAX = 2**63 - 1


def check_free(handle: str, *, own: int | None) -> str:
    """Returns `handle`; raises ValidationError where an owner other than `own` has that name in any case."""
    others = Owner.objects.filter(handle__iexact=handle)
    if own is not None:
        others = others.exclude(pk=own)
    if others.exists():
        raise ValidationError(_("That name is taken."))
    return handle


class UserForm(UserChangeForm):  # type: ignore[misc]  # unfold is untyped
    def clean_username(self) -> str:
        # Whoever may not change it has no such field.
        return check_free(self.cleaned_data["username"], own=self.instance.owner_id)


class NewUserForm(UserCreationForm):  # type: ignore[misc]  # unfold is untyped
    class Meta:
        model = User
        fields = ("username",)

    def clean_username(self) -> str:
        return check_free(self.cleaned_data["username"], own=None)


class CreditsForm(forms.Form):
    """How many queries each chosen user gets, and why."""

    amount = forms.IntegerField(
        label=_("Queries"),
        min_value=-CREDITS_MAX,
        max_value=CREDITS_MAX,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Beyond the daily limit; less than 0 takes some back."),
    )
    reason = forms.CharField(
        label=_("Reason"),
        max_length=REASON_MAX_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("The user can read it."),
    )


class LimitsForm(forms.Form):
    """The limits that each chosen user gets."""

    daily_query_limit = forms.IntegerField(
        label=_("Queries a day"), min_value=0, max_value=INT_MAX, widget=UnfoldAdminIntegerFieldWidget
    )
    daily_token_limit = forms.IntegerField(
        label=_("Tokens a day"),
        min_value=0,
        max_value=TOKENS_MAX,
        required=False,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=_("Of language models. Empty: no limit."),
    )


class KeysForm(forms.Form):
    """Which of one user's keys."""

    keys = forms.TypedMultipleChoiceField(label=_("Keys"), coerce=int, widget=UnfoldAdminCheckboxSelectMultipleWidget)

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        good = user.api_keys.filter(revoked=None).order_by("-pk")
        self.fields["keys"].choices = [(key.pk, f"{key.name} ({key.created:%Y-%m-%d})") for key in good]  # type: ignore[attr-defined]


class OrganizationForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic at run time
    handle = forms.CharField(
        label=_("Handle"), max_length=50, validators=[validate_handle], widget=UnfoldAdminTextInputWidget
    )

    class Meta:
        model = Organization
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None and "handle" in self.fields:
            self.fields["handle"].initial = self.instance.owner.handle

    def clean_handle(self) -> str:
        own = self.instance.owner_id if self.instance.pk is not None else None
        return check_free(self.cleaned_data["handle"], own=own)


class MembershipFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]  # no generic at run time
    def clean(self) -> None:
        super().clean()
        if any(self.errors):
            return
        roles = [form.cleaned_data.get("role") for form in self.forms if not form.cleaned_data.get("DELETE")]
        if any(roles) and Membership.Role.ADMIN not in roles:
            raise ValidationError(_("One of the members must be an admin."))
