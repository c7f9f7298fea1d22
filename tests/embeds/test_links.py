"""Signed URLs: good for one method, one path and some time; nothing about them can be changed."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import LinkRefused
from common.ids import uuid7
from embeds import links

CHARACTERS = st.characters(codec="utf-8")


def parts(url: str) -> tuple[str, dict[str, str]]:
    split = urlsplit(url)
    return split.path, dict(parse_qsl(split.query))


def reason(method: str, path: str, query: dict[str, str]) -> str:
    with pytest.raises(LinkRefused) as refused:
        links.verified(method, path, query)
    return str(refused.value.details["reason"])


def test_a_link_names_its_embed_and_is_good_for_get_and_head() -> None:
    embed = uuid7()
    path, query = parts(links.signed_url(embed))
    assert path == f"/attachment/{embed}"
    assert links.verified("GET", path, query) == links.verified("HEAD", path, query) == embed


def test_a_link_is_good_for_no_other_method() -> None:
    for signed, used in (("GET", "PUT"), ("GET", "DELETE"), ("PUT", "GET"), ("PUT", "HEAD")):
        path, query = parts(links.signed_url(uuid7(), method=signed))
        assert reason(used, path, query) == "changed"


def test_a_link_for_one_embed_opens_no_other() -> None:
    _, query = parts(links.signed_url(uuid7()))
    assert reason("GET", f"/attachment/{uuid7()}", query) == "changed"
    assert reason("GET", "/attachment/../attachment/x", query) == "changed"


def test_a_link_ends_and_cannot_be_prolonged() -> None:
    path, query = parts(links.signed_url(uuid7(), lifetime=-1))
    assert reason("GET", path, query) == "expired"
    assert reason("GET", path, {**query, "expires": str(int(query["expires"]) + 1000)}) == "changed"


def test_an_embed_has_the_same_link_for_a_while(monkeypatch: Any) -> None:
    embed = uuid7()
    start = 1_800_000_000 - 1_800_000_000 % links.STEP_SECONDS
    urls = []
    for second in range(1, 2 * links.STEP_SECONDS + 1):
        monkeypatch.setattr(links.time, "time", lambda now=start + second: float(now))
        urls.append(links.signed_url(embed, lifetime=3600))
        left = int(parts(urls[-1])[1]["expires"]) - (start + second)
        assert 3600 <= left < 3600 + links.STEP_SECONDS
    assert len(set(urls)) == 2


def test_links_signed_with_the_secret_before_this_one_are_good(settings: Any) -> None:
    path, query = parts(links.signed_url(uuid7()))
    old = settings.SECRET_KEY
    settings.SECRET_KEY = "x" * 50
    assert reason("GET", path, query) == "changed"
    settings.SECRET_KEY_FALLBACKS = [old]
    links.verified("GET", path, query)


@given(st.text(CHARACTERS), st.text(CHARACTERS))
def test_whatever_a_query_holds_is_refused_as_a_link(expires: str, signature: str) -> None:
    assert reason("GET", f"/attachment/{uuid7()}", {"expires": expires, "signature": signature}) == "changed"


@given(st.text(CHARACTERS))
def test_whatever_a_path_is_it_is_refused_as_a_link(path: str) -> None:
    assert reason("GET", path, {}) == "changed"
