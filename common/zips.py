"""A ZIP file that is written while it is sent: nothing of it is kept, however large it becomes."""

import asyncio
import hashlib
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import IO, cast
from urllib.parse import quote

Pieces = AsyncIterator[bytes]

# With the folders above it, a path should stay below the 260 characters of Windows.
NAME_MAX = 100
# What Windows takes for a device, whatever the ending.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}


def file_name(text: str) -> str:
    """A name that every system can unpack, for a text of any kind; another one for each text, also where a system does
    not tell capital letters from small ones.

    Percent signs stand for what names may not have; ~ and a checksum tell apart what would be one name.
    """
    name = quote(text, safe=" ").replace("~", "%7E")
    if name.startswith((" ", ".")) or name.partition(".")[0].rstrip().lower() in _DEVICES:
        name = f"{_escaped(name[0])}{name[1:]}"
    if name.endswith((" ", ".")):
        name = f"{name[:-1]}{_escaped(name[-1])}"
    if len(name) > NAME_MAX or text != text.lower():
        name = f"{name[: NAME_MAX - 17]}~{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return name


def _escaped(character: str) -> str:
    return f"%{ord(character):02X}"


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
