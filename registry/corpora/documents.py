"""What reading a corpus yields, and how far it may go."""

import asyncio
from dataclasses import dataclass
from typing import Self

from django.conf import settings

MAX_SOURCE = 2000
# A corpus may have documents that turn out to be none, but not without end.
ATTEMPTS_A_DOCUMENT = 4
SPARE_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class Limits:
    """How far the reading of one corpus may go. `delay` is between two requests to a host, in seconds."""

    documents: int
    document_bytes: int
    total_bytes: int
    seconds: float
    depth: int
    delay: float

    @classmethod
    def of_settings(cls) -> Self:
        return cls(
            documents=settings.CORPUS_MAX_DOCUMENTS,
            document_bytes=settings.CORPUS_DOCUMENT_MAX_BYTES,
            total_bytes=settings.CORPUS_MAX_BYTES,
            seconds=settings.CORPUS_MAX_SECONDS,
            depth=settings.CORPUS_MAX_DEPTH,
            delay=settings.CORPUS_DELAY_SECONDS,
        )


@dataclass(frozen=True, slots=True)
class Read:
    """A document with its text, never blank.

    `source` is its URL, or what the corpus Func calls it, and unique in a reading. `content_type` is without
    parameters; `size` are the bytes that were fetched.
    """

    source: str
    text: str
    title: str
    content_type: str
    size: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A document that is not in the corpus, and a sentence that says why. `skipped`: by a rule, not by a failure."""

    source: str
    reason: str
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class Stopped:
    """The last result of a reading that did not get to its end: a sentence that names the limit."""

    reason: str


Result = Read | Unread | Stopped


class NotRead(Exception):
    """Ends the reading of one document; becomes an `Unread`."""

    def __init__(self, reason: str, *, skipped: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.skipped = skipped

    def of(self, source: str) -> Unread:
        return Unread(source, self.reason, self.skipped)


class Budget:
    """How much of its limits a reading has used. Made when the reading starts."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.documents = self.attempts = self.bytes = 0
        self._ends = asyncio.get_running_loop().time() + limits.seconds

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._ends - asyncio.get_running_loop().time())

    def exhausted(self) -> Stopped | None:
        """Which limit does not let the reading go on."""
        limits = self.limits
        if self.documents >= limits.documents:
            return Stopped(f"A corpus may have {limits.documents} documents; the rest was not read.")
        if self.bytes >= limits.total_bytes:
            return Stopped(f"A corpus may have {limits.total_bytes} bytes; the rest was not read.")
        if self.attempts >= limits.documents * ATTEMPTS_A_DOCUMENT + SPARE_ATTEMPTS:
            return Stopped(f"Only {self.documents} of {self.attempts} attempts made a document; the rest was not read.")
        if self.seconds_left == 0:
            return Stopped(f"Reading a corpus may take {limits.seconds:g} seconds; the rest was not read.")
        return None
