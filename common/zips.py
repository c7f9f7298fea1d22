"""A ZIP file that is written while it is sent: nothing of it is kept, however large it becomes."""

import asyncio
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import IO, cast

Pieces = AsyncIterator[bytes]


class _Outgoing:
    """Where `zipfile` writes to: it can go neither back nor forth, and gives up what was written so far."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._written.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def take(self) -> bytes:
        taken, self._written = b"".join(self._written), []
        return taken


async def zipped(files: AsyncIterator[tuple[str, Pieces]]) -> Pieces:
    """The ZIP file of these files, each a path and its pieces. Compressed in threads, a piece at a time."""
    outgoing = _Outgoing()
    with zipfile.ZipFile(cast(IO[bytes], outgoing), "w") as archive:
        async for path, pieces in files:
            # How large it becomes is not known yet, so it may become larger than 4 GiB.
            with archive.open(_entry(path), "w", force_zip64=True) as entry:
                async for piece in pieces:
                    await asyncio.to_thread(entry.write, piece)
                    if ready := outgoing.take():
                        yield ready
    yield outgoing.take()


def _entry(path: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(path, datetime.now(UTC).timetuple()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry
