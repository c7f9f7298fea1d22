"""What a person fills in about themselves, their keys and their organizations; the actions check it."""

import uuid
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.actions import KEY_NAME_MAX_LENGTH
from accounts.models import Membership, User
from accounts.organizations import NAME_MAX_LENGTH


class NewApiKey(forms.Form):
    """The name of a new key. `form` is new with each page, so that one sent twice makes one key."""

    name = forms.CharField(
        label=_("Name"),
        max_length=KEY_NAME_MAX_LENGTH,
        help_text=_("Where you will use it, so that you know later what stops when you revoke it."),
        widget=forms.TextInput(attrs={"placeholder": _("My laptop"), "autocomplete": "off", "dir": "auto"}),
    )
    form = forms.UUIDField(widget=forms.HiddenInput, required=False, initial=uuid.uuid4)


class Profile(forms.ModelForm):  # type: ignore[type-arg]  # no generic at run time
    """What somebody is called, beside their name on this site, which stays."""

    class Meta:
        model = User
        fields = ("first_name", "last_name")
        labels = {"first_name": _("First name"), "last_name": _("Last name")}
        widgets = {
            "first_name": forms.TextInput(attrs={"autocomplete": "given-name", "dir": "auto"}),
            "last_name": forms.TextInput(attrs={"autocomplete": "family-name", "dir": "auto"}),
        }


class NewOrganization(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_MAX_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "organization", "dir": "auto"}),
    )
    handle = forms.CharField(
        label=_("Handle"),
        max_length=50,
        help_text=_("Its agents are called handle/agent. Letters, digits, - and _; it stays."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
    )


class OrganizationName(forms.Form):
    name = forms.CharField(
        label=_("Name"),
        max_length=NAME_MAX_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "organization", "dir": "auto"}),
    )


class NewMember(forms.Form):
    username = forms.CharField(
        label=_("Username"),
        max_length=50,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
    )
    role = forms.ChoiceField(
        label=_("Role"), choices=[(Membership.Role.MEMBER, _("Member")), (Membership.Role.ADMIN, _("Admin"))]
    )


class PasswordAgain(forms.Form):
    """The password of a user who has one, before something that a borrowed computer must not do."""

    password = forms.CharField(
        label=_("Your password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, *args: Any, user: User, may_try: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.may_try = may_try

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.may_try:
            raise forms.ValidationError(_("Too many tries. Wait a minute."), code="tries")
        if not self.user.check_password(password):
            raise forms.ValidationError(_("That is not your password."), code="password")
        return password


class DeleteAccount(forms.Form):
    """The username in full, as nobody types it by mistake."""

    username = forms.CharField(
        label=_("Your username"),
        max_length=50,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_username(self) -> str:
        username: str = self.cleaned_data["username"].strip()
        if username != self.user.username:
            raise forms.ValidationError(_("That is not your username."), code="username")
        return username
