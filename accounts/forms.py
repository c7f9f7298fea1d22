"""What a person fills in for an API key."""

from django import forms

from accounts.actions import KEY_NAME_MAX_LENGTH


class NewApiKey(forms.Form):
    """The name of a new key; `actions.create_api_key` checks it."""

    name = forms.CharField(
        label="Name",
        max_length=KEY_NAME_MAX_LENGTH,
        help_text="Where you will use it, so that you know later what stops when you revoke it.",
        widget=forms.TextInput(attrs={"placeholder": "My laptop", "autocomplete": "off", "dir": "auto"}),
    )
