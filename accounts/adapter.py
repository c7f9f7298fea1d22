"""Sign-up for django-allauth: names of people are handles, in lower case, free and not reserved."""

import re
import secrets
import unicodedata
from collections.abc import Iterable
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.utils import user_username
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.contrib import messages
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponseRedirect
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.names import RESERVED, TAKEN, is_taken


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    error_messages = {**DefaultAccountAdapter.error_messages, "username_taken": TAKEN}

    def clean_username(self, username: str, shallow: bool = False) -> str:
        """The name as it will be saved. Raises ValidationError, the form's error."""
        cleaned: str = super().clean_username(username.lower(), shallow)
        if not shallow and is_taken(cleaned):
            raise self.validation_error("username_taken")
        return cleaned

    def populate_username(self, request: HttpRequest, user: User) -> None:
        """Every sign-up passes here last; providers' own names have not been through `clean_username`."""
        user.username = user.username.lower()
        super().populate_username(request, user)

    def generate_unique_username(self, txts: Iterable[str | None], regex: str | None = None) -> str:
        """A free name for somebody who signs up through Google or GitHub, near what they are called."""
        base = next((name for text in txts if (name := _handle_from(text or ""))), "someone")
        name = base
        while name in RESERVED or is_taken(name):
            name = f"{base}-{secrets.token_hex(2)}"
        return name

    def save_user(self, request: HttpRequest, user: User, form: Any, commit: bool = True) -> User:
        """Saves a new user; whoever loses a race for the name is sent back to the form."""
        try:
            saved: User = super().save_user(request, user, form, commit)
        except IntegrityError:
            messages.error(request, _("That name is taken. Please choose another."))
            raise ImmediateHttpResponse(HttpResponseRedirect(request.get_full_path())) from None
        return saved


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth is untyped
    def save_user(self, request: HttpRequest, sociallogin: SocialLogin, form: Any = None) -> User:
        """Saves a new user of Google or GitHub; with another name where theirs was taken a moment ago."""
        try:
            with transaction.atomic():
                return self._save(request, sociallogin, form)
        except IntegrityError:
            user_username(sociallogin.user, "")
            return self._save(request, sociallogin, form)

    def _save(self, request: HttpRequest, sociallogin: SocialLogin, form: Any) -> User:
        user: User = super().save_user(request, sociallogin, form)
        return user


def _handle_from(text: str) -> str:
    """`"José Müller"` → `"jose-muller"`, `"j.doe@example.com"` → `"j-doe"`; empty where nothing is left."""
    plain = unicodedata.normalize("NFKD", text.split("@")[0]).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9_-]+", "-", plain.lower())[:40].strip("-_")
