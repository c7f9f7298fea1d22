"""Content types: their form, their honesty, and what a browser shows."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidRequest
from common.ids import uuid7
from embeds import content_types
from tests.embeds.keeper import PNG

JPEG = b"\xff\xd8\xff\xe0"
HTML = b"\n <!DOCTYPE html><script>alert(1)</script>"
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'
ZIP = b"PK\x03\x04"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("image/png", "image/png"),
        (" Image/PNG ", "image/png"),
        ("text/plain;Charset=UTF-8", "text/plain; charset=UTF-8"),
        ('application/x; a="b c";d=e', 'application/x; a="b c"; d=e'),
        ("application/vnd.api+json", "application/vnd.api+json"),
    ],
)
def test_a_content_type_has_one_way_of_writing(written: str, meant: str) -> None:
    assert content_types.checked(written) == meant


@pytest.mark.parametrize(
    "written",
    ["", "png", "image/", "/png", "image/p ng", "a/b; c", "a/b\r\nX: y", "a/b; c=\x00", "a/" + "b" * 254, "ä/b"],
)
def test_what_is_no_content_type_is_refused_by_name(written: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        content_types.checked(written)
    assert refused.value.details["field"] == "content_type"


def test_a_content_type_of_a_megabyte_is_not_read() -> None:
    began = time.perf_counter()
    with pytest.raises(InvalidRequest):
        content_types.checked("a/b" + ";c=d" * 2**18)
    assert time.perf_counter() - began < 0.1


@given(st.text(max_size=300))
def test_a_content_type_fits_into_a_header(text: str) -> None:
    try:
        checked = content_types.checked(text)
    except InvalidRequest:
        return
    assert checked.isascii()
    assert checked.isprintable() or "\t" in checked
    assert content_types.checked(checked) == checked


@pytest.mark.parametrize(
    ("content_type", "head"),
    [
        ("image/png", PNG),
        ("image/png", b""),
        ("image/png", b"who knows"),
        ("image/jpeg", JPEG),
        ("image/svg+xml", SVG),
        ("application/pdf", b"%PDF-1.7"),
        ("text/plain", HTML),
        ("text/html", HTML),
        ("application/octet-stream", PNG),
        ("application/zip", ZIP),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ZIP),
    ],
)
def test_an_honest_content_type_is_taken(content_type: str, head: bytes) -> None:
    content_types.check_honest(content_type, head)


@pytest.mark.parametrize(
    ("content_type", "head"),
    [
        ("image/png", HTML),
        ("image/png", JPEG),
        ("image/png", SVG),
        ("image/svg+xml", HTML),
        ("audio/mpeg", ZIP),
        ("video/mp4", PNG),
        ("application/pdf", HTML),
        ("application/pdf; a=b", b"MZ\x90"),
        ("image/gif", b"\xef\xbb\xbf<html>"),
    ],
)
def test_a_lying_content_type_is_refused_by_name(content_type: str, head: bytes) -> None:
    with pytest.raises(InvalidRequest) as refused:
        content_types.check_honest(content_type, head)
    assert refused.value.details["field"] == "content_type"


def test_only_what_cannot_run_is_shown() -> None:
    embed = uuid7()
    for shown, name in (("image/png", ".png"), ("text/plain; charset=utf-8", ".txt"), ("video/mp4", ".mp4")):
        assert content_types.disposition(shown, "", embed) == f'inline; filename="{embed}{name}"'
    for kept_away in ("text/html", "image/svg+xml", "application/pdf", "text/xml", "application/javascript", "a/b"):
        assert content_types.disposition(kept_away, "", embed).startswith("attachment; ")


def test_a_file_is_saved_under_its_name() -> None:
    embed = uuid7()
    assert content_types.disposition("text/plain", "notes.txt", embed) == 'inline; filename="notes.txt"'
    said = content_types.disposition("text/csv", "Umsätze.csv", embed)
    assert said == "attachment; filename*=utf-8''Ums%C3%A4tze.csv"
