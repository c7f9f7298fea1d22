"""The `Range` header (RFC 9110, section 14)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embeds.ranges import Unsatisfiable, byte_range

SIZE = 100


@pytest.mark.parametrize(
    ("header", "positions"),
    [
        ("bytes=0-0", range(1)),
        ("bytes=0-99", range(100)),
        ("bytes=10-", range(10, 100)),
        ("bytes=10-1000", range(10, 100)),
        ("bytes=-1", range(99, 100)),
        ("bytes=-1000", range(100)),
        ("Bytes=5-6", range(5, 7)),
    ],
)
def test_a_range_is_what_the_standard_says(header: str, positions: range) -> None:
    assert byte_range(header, SIZE) == positions


@pytest.mark.parametrize(
    "header", ["", "bytes", "bytes=", "bytes=-", "bytes=5-4", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b"]
)
def test_what_is_malformed_or_many_is_ignored(header: str) -> None:
    assert byte_range(header, SIZE) is None


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=999999999999999999-"])
def test_a_range_outside_of_the_content_is_refused(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        byte_range(header, SIZE)


@given(st.one_of(st.text(), st.from_regex(r"bytes=\d*-\d*", fullmatch=True)), st.integers(0, 10**12))
def test_a_range_lies_inside_the_content_whatever_is_asked(header: str, size: int) -> None:
    try:
        positions = byte_range(header, size)
    except Unsatisfiable:
        return
    assert positions is None or 0 <= positions.start < positions.stop <= size
