"""Names of files in ZIP files, which every system is to unpack."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.zips import NAME_MAX, file_name

ALLOWED = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~% ")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("notes", "notes"),
        ("my notes.txt", "my notes.txt"),
        ("a/b:c", "a%2Fb%3Ac"),
        ("..", "%2E%2E"),
        ("end.", "end%2E"),
        (" both ", "%20both%20"),
        ("con", "%63on"),
        ("aux.txt", "%61ux.txt"),
        ("nul .txt", "%6Eul .txt"),
        ("console", "console"),
        ("~", "%7E"),
    ],
)
def test_a_name_tells_the_text(text: str, name: str) -> None:
    assert file_name(text) == name


def test_names_differ_where_a_system_does_not_tell_capital_letters() -> None:
    texts = ("key", "Key", "KEY", "k" * 500, "k" * 501)
    assert len({file_name(text).lower() for text in texts}) == len(texts)
    assert file_name("Key").startswith("Key~")


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_has_a_name_of_its_own(one: str, other: str) -> None:
    name = file_name(one)
    assert set(name) <= ALLOWED
    assert len(name) <= NAME_MAX
    assert name[0] not in " ."
    assert name[-1] not in " ."
    assert (name.lower() == file_name(other).lower()) == (one == other)
