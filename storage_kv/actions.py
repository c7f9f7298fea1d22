"""Writes off the hot path: deleting one value, or all that an agent keeps about a user."""

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Length

from storage_kv.access import Storage, no_value
from storage_kv.conditions import Condition, conflict


@transaction.atomic
def delete_value(*, storage: Storage, key: str, condition: Condition) -> None:
    """Deletes the value under `key`. Raises NotFound where there is none, VersionConflict with a condition.

    Sent again because the connection broke, it may say NotFound of what it has deleted itself.
    """
    # While it is locked nobody else writes to this storage, and what is read after that is the newest. Where there
    # is nothing to lock, all was deleted a moment ago: what came since is not for this call to touch.
    locked = storage.usage().select_for_update(no_key=True).first()
    values = storage.values().filter(key=key).defer("value").annotate(size=Length("value"))
    found = values.first() if locked else None
    present = found.version if found else None
    if not condition.holds(present):
        raise conflict(present)
    if found is None:
        raise no_value()
    found.delete()
    storage.usage().update(keys=F("keys") - 1, bytes=F("bytes") - found.size)


def forget(*, storage: Storage) -> None:
    """Deletes all that the agent keeps about the user."""
    storage.usage().delete()  # its values go with it
