"""What a text of a query must be, wherever one is asked."""

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidRequest, PayloadTooLarge


def clean_text(text: str, *, field: str = "text") -> str:
    """The text of a query. Raises InvalidRequest or PayloadTooLarge, naming `field`."""
    if not text.strip():
        raise InvalidRequest(_("The text is empty."), field=field)
    if "\0" in text:
        raise InvalidRequest(_("The text holds a NUL character."), field=field)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest(_("The text is not valid Unicode (a lone surrogate)."), field=field) from None
    if size > settings.MESSAGE_MAX_BYTES:
        raise PayloadTooLarge(
            _("The text has %(size)s bytes; %(limit)s are allowed."),
            field=field,
            size=size,
            limit=settings.MESSAGE_MAX_BYTES,
        )
    return text
