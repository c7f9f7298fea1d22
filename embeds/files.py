"""Where the bytes lie, behind one interface: files of this machine here, S3 in `s3`.

What storage does, it does blocking, in threads of its own: a slow one takes none from the database.
"""

import asyncio
import hashlib
import os
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, ParamSpec, Protocol, TypeVar, cast

from django.core.files.storage import FileSystemStorage, storages

from embeds.content_types import HEAD_BYTES

P = ParamSpec("P")
T = TypeVar("T")

PIECE = 128 * 1024
_threads = ThreadPoolExecutor(max_workers=8, thread_name_prefix="embeds")


class Source(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Readable(Source, Protocol):
    def close(self) -> None: ...


class Files(Protocol):
    """A file storage. All of it blocks; a storage that is away raises Unavailable."""

    def put(self, path: str, content: Source) -> None:
        """Stores what `content` holds from where it stands (S3: a file, from its start)."""

    def copy(self, source: str, target: str) -> None:
        """Raises FileNotFoundError."""

    def get(self, path: str, start: int = 0) -> Readable:
        """The file, to be read from `start` on and closed. Raises FileNotFoundError."""

    def delete(self, path: str) -> None:
        """Removes the file, or finds it gone."""

    def download_url(self, path: str, method: str, content_type: str, disposition: str, seconds: int) -> str | None:
        """Where the storage itself hands the bytes out to whoever has this address; None where it cannot."""

    def upload_url(self, path: str, content_type: str, size: int, seconds: int) -> str | None:
        """Where the storage itself takes these bytes by a PUT; None where it cannot."""


def files() -> Files:
    return cast(Files, storages["embeds"])


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs what blocks on the storage."""
    return await asyncio.get_running_loop().run_in_executor(_threads, partial(function, *args, **kwargs))


def new_path() -> str:
    """A name that no file has had before."""
    name = uuid.uuid4().hex
    return f"{name[:2]}/{name}"


@dataclass(frozen=True, slots=True)
class Content:
    """What is to be known of bytes: `sha256` in hexadecimal, their number, and the first of them."""

    sha256: str
    size: int
    head: bytes


def content_of(file: Source) -> Content:
    """Reads `file` from where it stands to its end, in pieces."""
    digest, size, head = hashlib.sha256(), 0, b""
    while piece := file.read(PIECE):
        head = head or piece[:HEAD_BYTES]
        digest.update(piece)
        size += len(piece)
    return Content(digest.hexdigest(), size, head)


class LocalFiles(FileSystemStorage):
    """Files in a directory of this machine, which the site hands out itself."""

    def put(self, path: str, content: Source) -> None:
        target = Path(self.path(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            while piece := content.read(PIECE):
                file.write(piece)
            # A row may say that the bytes are there only once they outlive a loss of power.
            file.flush()
            os.fsync(file.fileno())

    def copy(self, source: str, target: str) -> None:
        with self.get(source) as content:
            self.put(target, content)

    def get(self, path: str, start: int = 0) -> IO[bytes]:
        file = Path(self.path(path)).open("rb")  # noqa: SIM115 -- the caller's to close
        file.seek(start)
        return file

    def download_url(self, path: str, method: str, content_type: str, disposition: str, seconds: int) -> None:
        return None

    def upload_url(self, path: str, content_type: str, size: int, seconds: int) -> None:
        return None
