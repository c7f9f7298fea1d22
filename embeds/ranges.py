"""The `Range` header (RFC 9110, section 14)."""

import re

_ONE_RANGE = re.compile(r"bytes[ \t]*=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.IGNORECASE)


class Unsatisfiable(Exception):
    """The range lies outside of the content."""


def byte_range(header: str, size: int) -> range | None:
    """The positions of `size` bytes that `header` asks for; None where all of them are to be sent.

    That is so for what is malformed, of another unit, or of several ranges: a server may ignore those.
    Raises Unsatisfiable.
    """
    match = _ONE_RANGE.fullmatch(header)
    if match is None or not (match[1] or match[2]):
        return None
    if not match[1]:
        start, stop = max(0, size - int(match[2])), size
    else:
        start, stop = int(match[1]), min(size, int(match[2]) + 1) if match[2] else size
        if match[2] and int(match[2]) < start:
            return None
    if start >= stop:
        raise Unsatisfiable
    return range(start, stop)
