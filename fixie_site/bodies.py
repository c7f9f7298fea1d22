"""How large the body of a request may be, held to before and while it is read."""

from typing import Any

from django.conf import settings

from common.errors import PayloadTooLarge

# What a form puts around a file, and what views may still refuse in their own words.
SLACK = 64 * 1024


def body_limit(path: str) -> int:
    """Bytes that the body of a request to `path` may have (`settings.LARGE_BODIES`: a name, or with / a folder)."""
    for place, limit in settings.LARGE_BODIES.items():
        if path == place or (place.endswith("/") and path.startswith(place)):
            return int(limit)
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE


class BoundedBody:
    """The `receive` of one request, which counts.

    Raises PayloadTooLarge for a body that is announced as too large before any of it is asked for, and for one
    that turns out so, as soon as it does.
    """

    def __init__(self, scope: Any, receive: Any) -> None:
        self._scope = scope
        self._receive = receive
        self._limit = body_limit(scope["path"])
        announced = dict(scope["headers"]).get(b"content-length", b"")
        self._is_announced = announced.isdigit()
        self._size = 0
        self._check(int(announced) if self._is_announced else 0)

    async def __call__(self) -> Any:
        message = await self._receive()
        self._size += len(message.get("body", b""))
        self._check(self._size)
        return message

    def scope(self) -> Any:
        """The request's scope, with the length of a body that came in chunks: Django takes one without for empty."""
        if self._is_announced or not self._size:
            return self._scope
        length = (b"content-length", str(self._size).encode())
        return {**self._scope, "headers": [*self._scope["headers"], length]}

    def _check(self, size: int) -> None:
        if size > self._limit + SLACK:
            raise PayloadTooLarge(f"A body may have {self._limit} bytes.", field="body", limit=self._limit)
