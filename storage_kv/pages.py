"""What the pages of User Storage show: which agents keep something about a user, the keys of one, and a value."""

import json
import re
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from accounts.models import User
from registry.access import owners_of
from registry.models import Agent
from storage_kv.access import Storage, entries, storages_of
from storage_kv.models import StorageUsage, StoredValue

KEYS_SHOWN = 100
# Of a value; all of it can be downloaded.
TEXT_SHOWN = 64 * 1024
# Characters that say nothing to a reader, except those that lay a text out.
_NO_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Kept:
    """What one agent keeps. `is_seen` is whether the user still sees the agent itself."""

    agent_id: str
    owner: str
    handle: str
    name: str
    keys: int
    bytes: int
    is_seen: bool


@dataclass(frozen=True, slots=True)
class StoragePage:
    """A page of the keys; `more` is what the next page comes after, None where there is none."""

    kept: Kept
    entries: list[Any]
    more: str | None
    keys_max: int
    bytes_max: int


@dataclass(frozen=True, slots=True)
class ValuePage:
    """A value. `text` is None where it is no text; `cut`, whether there is more of it."""

    kept: Kept
    key: str
    content_type: str
    size: int
    modified: Any
    text: str | None
    cut: bool


def all_kept(user: User) -> list[Kept]:
    """What every agent keeps about `user`, by the agents' names. Two queries."""
    mine = owners_of(user)
    return [_kept(usage.agent, usage, mine) for usage in storages_of(user)]


def kept_by(user: User, storage: Storage) -> Kept:
    """How much is in this storage of theirs."""
    agent = Agent.objects.select_related("owner").get(pk=storage.agent_id)
    return _kept(agent, storage.usage().first(), owners_of(user))


def storage_page(user: User, storage: Storage, *, after: str) -> StoragePage:
    found = list(entries(storage, prefix="", after=after)[: KEYS_SHOWN + 1])
    shown = found[:KEYS_SHOWN]
    return StoragePage(
        kept=kept_by(user, storage),
        entries=shown,
        more=shown[-1].key if len(found) > KEYS_SHOWN else None,
        keys_max=settings.STORAGE_MAX_KEYS,
        bytes_max=settings.STORAGE_MAX_BYTES,
    )


def value_page(user: User, storage: Storage, stored: StoredValue) -> ValuePage:
    value = bytes(stored.value)
    text = text_of(value)
    return ValuePage(
        kept=kept_by(user, storage),
        key=stored.key,
        content_type=stored.content_type,
        size=len(value),
        modified=stored.modified,
        text=text[:TEXT_SHOWN] if text is not None else None,
        cut=text is not None and len(text) > TEXT_SHOWN,
    )


def text_of(value: bytes) -> str | None:
    """The value as a person reads it, JSON laid out; None where it is no text."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    if _NO_TEXT.search(text):
        return None
    if text[:1] in ("{", "[") and len(text) <= TEXT_SHOWN:
        try:
            return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
        except (ValueError, RecursionError):
            return text
    return text


def _kept(agent: Agent, usage: StorageUsage | None, mine: set[int]) -> Kept:
    return Kept(
        agent_id=agent.agent_id,
        owner=agent.owner.handle,
        handle=agent.handle,
        name=agent.name,
        keys=usage.keys if usage else 0,
        bytes=usage.bytes if usage else 0,
        is_seen=agent.published or agent.owner_id in mine,
    )
