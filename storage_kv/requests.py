"""What the calls to User Storage say: keys, values and conditions, checked."""

import re
from typing import cast
from urllib.parse import unquote_to_bytes

import orjson
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest

from common.errors import InvalidRequest, PayloadTooLarge

KEY_MAX_BYTES = 512
CONTENT_TYPE_MAX = 255
BYTES = "application/octet-stream"
# A type, a subtype and parameters (RFC 9110, section 8.3.1), of which only the first two are looked into.
CONTENT_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+[ \t]*(;[\x20-\x7e]*)?", re.ASCII)
# JSON may write every byte of a text as \u00XX.
JSON_GROWTH = 6
JSON_FRAME = 1024


def key_of(request: HttpRequest, key: str) -> str:
    """The key that a call's address ends with. Raises InvalidRequest."""
    if request.META["QUERY_STRING"]:
        raise InvalidRequest("A key's address takes no query. Is the ? part of the key? Write it as %3F.", field="key")
    if "\ufffd" in key:
        # What is no UTF-8 came as U+FFFD: many keys would be one.
        _check_utf8(cast(ASGIRequest, request).scope["raw_path"])
    return checked_key(key, field="key")


def checked_key(key: str, *, field: str) -> str:
    """Returns `key`, or raises InvalidRequest naming `field` where no key can be like that."""
    size = len(key.encode())
    if size > KEY_MAX_BYTES:
        raise InvalidRequest(
            f"{field} may have {KEY_MAX_BYTES} bytes in UTF-8, and this has {size}.", field=field, limit=KEY_MAX_BYTES
        )
    if "\0" in key:
        raise InvalidRequest(f"{field} may not hold U+0000.", field=field)
    return key


def text_of(request: HttpRequest) -> bytes:
    """The text of `{"data": TEXT}`, in UTF-8. Raises InvalidRequest or PayloadTooLarge."""
    limit = settings.STORAGE_VALUE_MAX_BYTES
    body = _body(request, limit * JSON_GROWTH + JSON_FRAME)
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"The body is not JSON: {error}.", field="body") from None
    data = document.get("data") if isinstance(document, dict) else None
    if not isinstance(data, str):
        raise InvalidRequest('The body must be {"data": TEXT}; to set bytes, PUT them.', field="data")
    return _checked_size(data.encode(), field="data")


def bytes_of(request: HttpRequest) -> bytes:
    """The body as it is. Raises PayloadTooLarge."""
    return _checked_size(_body(request, settings.STORAGE_VALUE_MAX_BYTES), field="body")


def content_type_of(request: HttpRequest) -> str:
    """The type that the body is said to have. Raises InvalidRequest for what is no type."""
    content_type = request.META.get("CONTENT_TYPE") or BYTES
    if len(content_type) > CONTENT_TYPE_MAX or not CONTENT_TYPE.fullmatch(content_type):
        raise InvalidRequest(
            f"Content-Type must be a media type of at most {CONTENT_TYPE_MAX} characters.", field="Content-Type"
        )
    return content_type


def _check_utf8(raw_path: bytes) -> None:
    try:
        unquote_to_bytes(raw_path).decode()
    except UnicodeDecodeError:
        raise InvalidRequest("A key must be UTF-8, percent-encoded.", field="key") from None


def _body(request: HttpRequest, limit: int) -> bytes:
    # Not `request.body`, which is bounded by the limit of all other calls.
    body = request.read(limit + 1)
    if len(body) > limit:
        raise _too_large("body")
    return body


def _checked_size(value: bytes, *, field: str) -> bytes:
    if len(value) > settings.STORAGE_VALUE_MAX_BYTES:
        raise _too_large(field)
    return value


def _too_large(field: str) -> PayloadTooLarge:
    limit = settings.STORAGE_VALUE_MAX_BYTES
    return PayloadTooLarge(f"A value may have {limit} bytes.", field=field, limit=limit)
