"""Statements that are sent twice, because the connection broke after the first one was carried out."""

from dataclasses import replace

import pytest

from accounts.tokens import averify_call_token
from common.db import run_db
from common.errors import VersionConflict
from common.ids import uuid7
from storage_kv import store
from storage_kv.conditions import Condition
from storage_kv.store import Value
from tests.storage_kv.memories import Memory


@pytest.mark.parametrize("existing", [False, True])
async def test_a_write_sent_twice_is_one_write_and_meets_its_own_condition(storage: Memory, existing: bool) -> None:
    claims = await averify_call_token(storage.token)
    old, new = Value(uuid7(), "", b"old"), Value(uuid7(), "text/x", b"newer")
    if existing:
        await store.write(claims, "key", old, Condition())
    condition = Condition(versions=[old.version]) if existing else Condition(must_be_new=True)

    first = await store.write(claims, "key", new, condition)
    again = await store.write(claims, "key", new, condition)

    assert (first.created, again.created) == (not existing, False)
    assert await store.read(claims, "key") == new
    assert await run_db(storage.usage) == (1, 5)
    with pytest.raises(VersionConflict):
        await store.write(claims, "key", replace(new, version=uuid7()), condition)


async def test_a_write_does_not_survive_half(storage: Memory) -> None:
    """Whatever fails in the statement, nothing of it stays: here the key, which PostgreSQL cannot store."""
    claims = await averify_call_token(storage.token)

    with pytest.raises(Exception, match="NUL"):
        await store.write(claims, "a\0b", Value(uuid7(), "", b"value"), Condition())

    assert await run_db(storage.usage) == (0, 0)
