"""How long something took, for people."""

from datetime import datetime, timedelta

from django.utils.formats import number_format
from django.utils.translation import gettext as _

MINUTE, HOUR = 60.0, 3600.0


def told(seconds: float) -> str:
    """`85 ms`, `1.9 s`, `2 min 5 s`, `3 h 20 min`."""
    if seconds < 1:
        return _("%(number)s ms") % {"number": round(seconds * 1000)}
    if seconds < MINUTE:
        return _("%(number)s s") % {"number": number_format(seconds, 1)}
    if seconds < HOUR:
        minutes, rest = divmod(round(seconds), 60)
        return _("%(minutes)s min %(seconds)s s") % {"minutes": minutes, "seconds": rest}
    hours, rest = divmod(round(seconds / MINUTE), 60)
    return _("%(hours)s h %(minutes)s min") % {"hours": hours, "minutes": rest}


def between(start: datetime | None, end: datetime | None) -> str:
    """The time from `start` to `end`; nothing where one of them is not known."""
    return told(max((end - start) / timedelta(seconds=1), 0.0)) if start and end else ""
