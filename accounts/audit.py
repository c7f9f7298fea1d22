"""The audit log: what operators did, in Django's own table, beside what its admin writes there by itself."""

from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.admin.options import get_content_type_for_model
from django.db.models import Model

from accounts.models import User

__all__ = ["ADDITION", "CHANGE", "DELETION", "has_operated", "record"]

NAME_MAX_LENGTH = 200


def record(*, by: User, object: Model | type[Model], message: str, what: int = CHANGE) -> LogEntry:
    """Notes that `by` did something to, or looked into, `object`; call it in the transaction of the act itself.

    A class stands for many of its objects at once. `message` is a sentence in English, the same whoever reads it; it
    never holds contents, keys or tokens. A deletion (`what=DELETION`) is noted before it happens, while the object
    still has its id.
    """
    is_one = isinstance(object, Model)
    return LogEntry.objects.create(
        user=by,
        content_type=get_content_type_for_model(object),
        object_id=str(object.pk) if is_one else None,
        object_repr=str(object if is_one else object._meta.verbose_name_plural)[:NAME_MAX_LENGTH],
        action_flag=what,
        change_message=message,
    )


def has_operated(user: User) -> bool:
    """Whether there are entries of acts of `user`. With the user they would go, so such a user is only deactivated."""
    return LogEntry.objects.filter(user=user).exists()
