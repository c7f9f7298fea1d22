"""What agents keep about somebody, as files: for the export of a person's data."""

from collections.abc import AsyncIterator, Iterable

from django.db.models import QuerySet, Value
from django.db.models.functions import Concat

from accounts.models import User
from common.db import run_db_safely
from common.zips import file_name
from storage_kv.models import StoredValue

# A value may have a megabyte.
PAGE = 10


def _values_of(user: User) -> "QuerySet[StoredValue]":
    name = Concat("agent__owner__handle", Value("/"), "agent__handle")
    return StoredValue.objects.filter(user=user).annotate(agent_name=name).order_by("pk")


def stored_index(user: User) -> Iterable[tuple[object, ...]]:
    """The keys and where their values are, as a table with its head."""
    yield ("agent", "key", "file", "content_type", "modified")
    for value in _values_of(user).defer("value").iterator():
        yield (_agent_of(value), value.key, _path(value), value.content_type, value.modified)


async def stored_values(user: User) -> AsyncIterator[tuple[str, bytes]]:
    """Each value with the path of its file."""
    values = _values_of(user)
    page = await run_db_safely(list, values[:PAGE])
    while page:
        for value in page:
            yield _path(value), bytes(value.value)
        page = await run_db_safely(list, values.filter(pk__gt=page[-1].pk)[:PAGE])


def _path(value: StoredValue) -> str:
    """`storage/OWNER/AGENT/KEY`. A key may be anything."""
    return "/".join(["storage", *map(file_name, [*_agent_of(value).split("/"), value.key])])


def _agent_of(value: StoredValue) -> str:
    name: str = value.agent_name  # type: ignore[attr-defined]  # annotated
    return name
