"""`data:` URIs: those of the RFC, and those of the published SDK."""

import base64
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidRequest, PayloadTooLarge
from embeds.data_uris import DataUri, decoded

LIMIT = 1000


@pytest.mark.parametrize(
    ("uri", "meant"),
    [
        ("data:text/plain;base64,SGVsbG8=", DataUri("text/plain", b"Hello")),
        ("data:text/plain;charset=utf-8;base64,SGVsbG8", DataUri("text/plain;charset=utf-8", b"Hello")),
        ("data:image/png;BASE64,SGVs%62G8%3D", DataUri("image/png", b"Hello")),
        ("data:base64,SGVsbG8=", DataUri("", b"Hello")),
        ("data:;base64,SGVs\nbG8=", DataUri("", b"Hello")),
        ("data:,Hello%20there", DataUri("", b"Hello there")),
        ("data:text/html,<b>1,2</b>", DataUri("text/html", b"<b>1,2</b>")),
        ("data:,", DataUri("", b"")),
    ],
)
def test_a_uri_holds_its_bytes(uri: str, meant: DataUri) -> None:
    assert decoded(uri, max_bytes=LIMIT) == meant


@pytest.mark.parametrize(
    "uri", ["data:", "data:text/plain;base64", "data:base64,SGVsb", "data:base64,SGV*", "data:base64,ÄÖ"]
)
def test_what_is_no_data_uri_is_refused_by_name(uri: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        decoded(uri, max_bytes=LIMIT)
    assert refused.value.details["field"] == "uri"


def test_a_uri_holds_no_more_than_an_embed_may() -> None:
    for size, encode in ((LIMIT, quote_from_bytes), (LIMIT, lambda data: ";base64," + base64.b64encode(data).decode())):
        text = encode(b"\0" * size)
        assert len(decoded("data:" + (text if "," in text else "," + text), max_bytes=LIMIT).data) == size
        more = encode(b"\0" * (size + 1))
        with pytest.raises(PayloadTooLarge):
            decoded("data:" + (more if "," in more else "," + more), max_bytes=LIMIT)


@given(st.binary(max_size=LIMIT))
def test_bytes_come_back_as_they_went_in(data: bytes) -> None:
    packed = base64.b64encode(data).decode()
    for uri in (f"data:a/b;base64,{packed}", f"data:base64,{packed}", f"data:a/b,{quote_from_bytes(data)}"):
        assert decoded(uri, max_bytes=LIMIT).data == data


@given(st.text())
def test_any_text_is_read_or_refused_clearly(text: str) -> None:
    try:
        assert len(decoded(f"data:{text}", max_bytes=LIMIT).data) <= LIMIT
    except (InvalidRequest, PayloadTooLarge):
        return
