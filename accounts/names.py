"""Names that people choose: what an owner may be called, and what a key or an organization may."""

import unicodedata

from django.core.exceptions import ValidationError
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Owner
from common.errors import InvalidRequest
from common.handles import validate_handle

# Parts of the site's addresses, now or likely; and words that name a speaker or nobody in prompts and sessions.
ADDRESSES = (
    "about accounts admin agents api app auth authorize blog bridges docs embeds graphql healthz help "
    "jwks login logout me media metrics oauth organizations profile readyz refresh runs search sessions settings "
    "share signup static status userstorage well-known ws www"
)
SPEAKERS = "agent anonymous assistant demo fixie func internal none null root security support system undefined user"
RESERVED = frozenset(f"{ADDRESSES} {SPEAKERS}".split())
TAKEN = _("That name is taken.")


def validate_not_reserved(value: str) -> None:
    """A Django validator: raises ValidationError where `value` is one of the site's own words."""
    if value.lower() in RESERVED:
        raise ValidationError(_("That name is reserved; please choose another."), code="reserved")


username_validators = [validate_handle, validate_not_reserved]


def is_taken(handle: str) -> bool:
    """Whether a user or an organization has this name in any case: `Bob` must not pass for `bob`."""
    return Owner.objects.filter(handle__iexact=handle).exists()


def check_line(text: str, *, what: str | Promise, field: str, limit: int) -> str:
    """`text` without space around it. Raises InvalidRequest where it is no line of 1 to `limit` characters."""
    text = text.strip()
    if not 1 <= len(text) <= limit:
        raise InvalidRequest(
            format_lazy(_("{what} has 1 to {limit} characters."), what=what, limit=limit), field=field, limit=limit
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise InvalidRequest(format_lazy(_("{what} has no control characters."), what=what), field=field)
    return text
