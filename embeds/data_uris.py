"""`data:` URIs (RFC 2397), and what the published SDK makes of them."""

import base64
import binascii
import re
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from common.errors import InvalidRequest, PayloadTooLarge

SCHEME = "data:"
_SPACE = re.compile(rb"[ \t\r\n\f]+")


@dataclass(frozen=True, slots=True)
class DataUri:
    """`content_type` is empty where the URI names none."""

    content_type: str
    data: bytes


def decoded(uri: str, *, max_bytes: int) -> DataUri:
    """What a `data:` URI holds. Raises InvalidRequest (`uri`), PayloadTooLarge.

    `fixieai.Embed.content` of the published SDK writes `data:base64,…`, which is not what the RFC says: a media
    type has a slash, so this is no media type, and Base64 is what is meant.
    """
    head, comma, tail = uri.removeprefix(SCHEME).partition(",")
    if not comma:
        raise InvalidRequest("A data: URI has a comma before its data.", field="uri")
    # Percent-encoded bytes are three characters, Base64 four for three bytes.
    if len(tail) > 3 * max_bytes + 4:
        raise _too_large(max_bytes)
    media_type, _, last = head.rpartition(";")
    if last.strip().lower() != "base64":
        media_type = head
        data = unquote_to_bytes(tail)
    else:
        data = _from_base64(unquote_to_bytes(tail))
    if len(data) > max_bytes:
        raise _too_large(max_bytes)
    return DataUri(media_type if "/" in media_type else "", data)


def _from_base64(text: bytes) -> bytes:
    """As browsers do (the WHATWG's "forgiving-base64"): white space and missing padding are no mistakes."""
    packed = _SPACE.sub(b"", text).rstrip(b"=")
    try:
        return base64.b64decode(packed + b"=" * (-len(packed) % 4), validate=True)
    except binascii.Error:
        raise InvalidRequest("The data of a data: URI is not Base64 as it says.", field="uri") from None


def _too_large(max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"An embed may have {max_bytes} bytes.", field="uri", limit=max_bytes)
