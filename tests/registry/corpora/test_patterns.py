"""URLs of corpora: which belong to one, and which are the same page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidRequest
from registry.corpora.patterns import is_excluded, is_trap, normalised, scope_of


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("HTTP://Example.COM:80", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("https://example.com/a/../b/./c", "https://example.com/b/c"),
        ("https://example.com/%7ejo%68n/%2f", "https://example.com/~john/%2F"),
        ("https://example.com/a#part", "https://example.com/a"),
        ("https://example.com/a?utm_source=x&page=2&gclid=7", "https://example.com/a?page=2"),
        ("https://example.com/a?utm_source=x", "https://example.com/a"),
        ("https://bücher.example/ü", "https://xn--bcher-kva.example/%C3%BC"),
    ],
)
def test_urls_of_one_page_are_spelled_one_way(url: str, same: str) -> None:
    assert normalised(url) == same
    assert normalised(same) == same


@given(st.text(alphabet="abc/.%7Ee?&=utm_~-:ü", max_size=40))
def test_a_normalised_url_stays_as_it_is(rest: str) -> None:
    url = normalised(f"https://example.com/{rest}")
    assert normalised(url) == url


@pytest.mark.parametrize(
    ("entry", "inside", "outside"),
    [
        ("https://x.com/docs/*", "https://x.com/docs/a/b?c=1", "https://x.com/doc"),
        ("https://x.com/docs/*", "http://x.com/docs/", "https://x.com/"),
        ("https://x.com/docs/*", "https://x.com/docs/a", "https://x.com.evil.com/docs/a"),
        ("https://x.com*", "https://x.com/anything", "https://x.com.evil.com/"),
        ("https://x.com/*", "https://x.com/a", "https://x.com:8080/a"),
        ("https://x.com/list?kind=a*", "https://x.com/list?kind=a&page=2", "https://x.com/list?kind=b"),
    ],
)
def test_a_star_takes_in_what_is_below_on_the_same_host(entry: str, inside: str, outside: str) -> None:
    scope = scope_of(entry)
    assert scope.is_prefix
    assert scope.holds(inside)
    assert not scope.holds(outside)


@pytest.mark.parametrize(
    "entry", ["https://*.example.com/", "https://x.com/*/a", "ftp://x.com/*", "*", "https://me:pw@x.com/", "x", ""]
)
def test_an_entry_that_is_no_url_is_refused(entry: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        scope_of(entry)
    assert error.value.details["field"] == "url"


def test_exclude_patterns_match_whole_urls() -> None:
    assert is_excluded("https://x.com/no_crawl/a", ["*/other/*", "*/no_crawl/*"])
    assert not is_excluded("https://x.com/no_crawl", ["*/no_crawl/*", "x.com*"])


def test_a_path_that_repeats_itself_is_a_trap() -> None:
    assert is_trap("https://x.com/a/b/a/b/a/b/a/b")
    assert is_trap("https://x.com/" + "/".join(map(str, range(40))))
    assert not is_trap("https://x.com/docs/v1/docs/v2/index.html")
