"""How far a client has read an answer, written into the id of each event, so that a broken stream goes on there.

A stream has two tracks. Its response and the steps on the way come from stored messages, the same each time, and are
counted. The answer's own text grows in pieces that no two streams cut alike: of it the length is kept, and a checksum,
as an agent that is asked again after a crash may write another text.
"""

import re
from typing import NamedTuple
from zlib import crc32

from common.errors import InvalidRequest

_ID = re.compile(r"([0-9]{1,9})-([0-9]{1,9})-([0-9]{1,9})-([0-9]{1,9})-([0-9a-f]{1,8})")


class Position(NamedTuple):
    """The place behind an event.

    `number` is that event's `sequence_number`. The reader has the first `told` events of the response and its steps,
    the first `answered` of the answer, which do not count its deltas, and `length` code points of its text, whose
    CRC-32 is `checksum`.
    """

    number: int = -1
    told: int = 0
    answered: int = 0
    length: int = 0
    checksum: int = 0

    def __str__(self) -> str:
        return f"{self.number}-{self.told}-{self.answered}-{self.length}-{self.checksum:x}"


START = Position()


def position_of(event_id: str) -> Position:
    """The place behind the event with this id. Raises InvalidRequest where no event of ours has such an id."""
    match = _ID.fullmatch(event_id)
    if match is None:
        raise InvalidRequest("Last-Event-ID is not the id of an event of this stream.", field="Last-Event-ID")
    number, told, answered, length, checksum = match.groups()
    return Position(int(number), int(told), int(answered), int(length), int(checksum, 16))


class Written:
    """What a reader has of the answer's text. Of one who comes back only length and checksum are known at first."""

    def __init__(self, length: int, checksum: int) -> None:
        self.length = length
        self.checksum = checksum
        self._text = None if length else ""

    def grow(self, text: str, *, is_whole: bool = False) -> str | None:
        """What of `text` the reader lacks; None where what they have is not its beginning.

        Unless it `is_whole`, a text that is shorter than theirs is being written anew, and may yet become theirs: they
        lack nothing.
        """
        if len(text) < self.length:
            may_be_theirs = not is_whole and (self._text is None or self._text.startswith(text))
            return "" if may_be_theirs else None
        if not self._begins(text):
            return None
        piece = text[self.length :]
        self._take(text, crc32(piece.encode(), self.checksum))
        return piece

    def replace(self, text: str) -> None:
        """The reader was given all of `text` in the place of what they had."""
        self._take(text, crc32(text.encode()))

    def _begins(self, text: str) -> bool:
        if self._text is not None:
            return text.startswith(self._text)
        return crc32(text[: self.length].encode()) == self.checksum

    def _take(self, text: str, checksum: int) -> None:
        self._text, self.length, self.checksum = text, len(text), checksum
