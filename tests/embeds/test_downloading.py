"""Downloading by a signed URL: with no key, in parts, unchanged, and so that nothing runs."""

import os
from urllib.parse import urlsplit

import httpx2
import pytest

from embeds.links import signed_url
from tests.embeds.keeper import PNG, Json, Keeper
from tests.sessions_app.people import error_of
from tests.sites import Site


@pytest.fixture
def embed(ann: Keeper, content: bytes) -> Json:
    return ann.uploaded(content)


def get(embed: Json, method: str = "GET", **headers: str) -> httpx2.Response:
    return httpx2.request(
        method, embed["url"], headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def test_a_link_gives_the_bytes_to_whoever_has_it(embed: Json, content: bytes) -> None:
    answer = get(embed)
    assert (answer.status_code, answer.content) == (200, content)
    assert answer.headers["content-type"] == "text/plain"
    assert answer.headers["content-length"] == str(len(content))
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["etag"] == f'"{embed["sha256"]}"'
    assert "set-cookie" not in answer.headers
    private, max_age, immutable = answer.headers["cache-control"].split(", ")
    assert (private, immutable) == ("private", "immutable")
    assert 3590 < int(max_age.partition("=")[2]) <= 3900


def test_head_tells_the_same_without_the_bytes(embed: Json, content: bytes) -> None:
    answer, whole = get(embed, "HEAD"), get(embed)
    assert (answer.status_code, answer.content) == (200, b"")
    same = ("content-type", "content-length", "etag", "last-modified", "content-disposition", "accept-ranges")
    assert {name: answer.headers[name] for name in same} == {name: whole.headers[name] for name in same}


def test_a_range_gives_a_part(embed: Json, content: bytes) -> None:
    size = len(content)
    for header, part in (("bytes=0-4", slice(0, 5)), ("bytes=5-", slice(5, None)), ("bytes=-3", slice(-3, None))):
        answer = get(embed, Range=header)
        assert (answer.status_code, answer.content) == (206, content[part])
        start, _, _ = part.indices(size)
        assert answer.headers["content-range"] == f"bytes {start}-{start + len(content[part]) - 1}/{size}"
        assert answer.headers["content-length"] == str(len(content[part]))


def test_a_range_outside_of_the_content_is_refused(embed: Json, content: bytes) -> None:
    answer = get(embed, Range="bytes=5000-")
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(content)}"
    assert answer.content == b""


def test_if_range_asks_whether_the_part_is_of_the_same(embed: Json, content: bytes) -> None:
    whole = get(embed)
    for same in (whole.headers["etag"], whole.headers["last-modified"]):
        assert get(embed, Range="bytes=0-4", If_Range=same).status_code == 206
    for other in ('"other"', "Thu, 01 Jan 1970 00:00:00 GMT", "W/" + whole.headers["etag"]):
        answer = get(embed, Range="bytes=0-4", If_Range=other)
        assert (answer.status_code, answer.content) == (200, content)


def test_who_has_it_already_is_told_so(embed: Json) -> None:
    whole = get(embed)
    for header, value in (
        ("If_None_Match", whole.headers["etag"]),
        ("If_Modified_Since", whole.headers["last-modified"]),
    ):
        answer = get(embed, **{header: value})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == whole.headers["etag"]
    assert get(embed, If_Match='"other"').status_code == 412


def test_a_large_file_comes_whole_and_in_its_middle(ann: Keeper) -> None:
    content = os.urandom(3 * 1024 * 1024 + 17)
    embed = ann.uploaded(content, "application/octet-stream")
    assert get(embed).content == content
    assert get(embed, Range="bytes=1000000-2999999").content == content[1_000_000:3_000_000]


def test_a_client_that_leaves_takes_nothing_with_it(ann: Keeper) -> None:
    embed = ann.uploaded(os.urandom(4 * 1024 * 1024), "application/octet-stream")
    for _ in range(8):
        with httpx2.stream("GET", embed["url"]) as answer:
            next(answer.iter_raw(1000))
    descriptors = os.listdir(f"/proc/{ann.site.process.pid}/fd")  # noqa: PTH208
    assert sum(_is_embed(ann.site, each) for each in descriptors) <= 2
    assert get(embed, "HEAD").status_code == 200


def _is_embed(site: Site, descriptor: str) -> bool:
    try:
        return "/embeds/" in os.readlink(f"/proc/{site.process.pid}/fd/{descriptor}")  # noqa: PTH115
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("image/svg+xml", b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"),
        ("text/html", b"<html><script>alert(1)</script></html>"),
        ("application/xhtml+xml", b"<html xmlns='http://www.w3.org/1999/xhtml'><script>alert(1)</script></html>"),
    ],
)
def test_what_could_run_is_kept_from_running(ann: Keeper, content_type: str, content: bytes) -> None:
    answer = get(ann.uploaded(content, content_type))
    assert answer.content == content
    assert answer.headers["content-type"] == content_type
    assert answer.headers["content-disposition"].startswith("attachment; ")
    assert answer.headers["x-content-type-options"] == "nosniff"
    policy = answer.headers["content-security-policy"].split("; ")
    assert policy[:2] == ["sandbox", "default-src 'none'"]
    assert not any("script" in rule for rule in policy)
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_picture_is_shown_on_the_pages_of_the_site(ann: Keeper) -> None:
    answer = get(ann.uploaded(PNG, "image/png"))
    assert answer.headers["content-disposition"].startswith("inline; ")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_link_that_has_been_changed_or_has_expired_is_refused(settings: object, ann: Keeper, embed: Json) -> None:
    other = ann.uploaded(b"other")
    settings.SITE_URL = ann.site.url
    expired = signed_url(embed["id"], lifetime=-10)
    changed = [
        embed["url"].replace(embed["id"], other["id"]),
        embed["url"].replace("expires=", "expires=9"),
        embed["url"].partition("&")[0],
        embed["url"].partition("?")[0],
    ]
    for url, reason in [(expired, "expired"), *((url, "changed") for url in changed)]:
        answer = httpx2.get(url)
        assert answer.status_code == 403
        assert (error_of(answer)["code"], error_of(answer)["details"]["reason"]) == ("link_refused", reason)


def test_a_link_does_nothing_but_read(embed: Json) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = get(embed, method)
        assert answer.status_code in (403, 405)
    assert get(embed).status_code == 200


def test_an_embed_that_is_gone_is_not_found(ann: Keeper, embed: Json) -> None:
    assert ann.http.delete(f"/api/embeds/{embed['id']}").status_code == 204
    answer = get(embed)
    assert answer.status_code == 404
    assert error_of(answer)["code"] == "not_found"


def test_a_link_is_on_this_site(embed: Json, ann: Keeper) -> None:
    split = urlsplit(embed["url"])
    assert f"{split.scheme}://{split.netloc}" == ann.site.url
