"""UUIDs of version 7 (RFC 9562): unique like the others, but new ones sort after old ones, which indexes like."""

import os
import time
from datetime import datetime
from uuid import UUID


def uuid7(*, at: datetime | None = None) -> UUID:
    """A fresh id: 48 bits of Unix milliseconds, of the moment `at` or of now, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000 if at is None else int(at.timestamp() * 1000)
    value = milliseconds << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF000 << 64) | (7 << 76)
    value = value & ~(0xC000 << 48) | (2 << 62)
    return UUID(int=value)
