"""Keys: any characters a URL can carry, and where they are refused; lists of them with prefixes and pages."""

import re
import socket
from urllib.parse import quote

import pytest

from tests.sites import Site
from tests.storage_kv.memories import Memory, error_of, memory

KEYS = [
    *["a/b", "a/", "/a", "a//b", "//", "/", "a b", " ", "+", "a+b", "%", "%2F", "%25", "?", "a?b=c", "#", "&=;,:@"],
    *["..", ".", "../x", "../../other/agent/key", "./a", "a/../b", "käse", "🧀", "\n", "a\nb", "\r\n", "\t", "\x7f"],
    *['"', "'", "<b>", "\\", "\ufffd", "e\u0301", "\u00e9", "A", "a", "key.json", "x" * 512, "ä" * 256],
]


def ask(site: Site, method: str, target: str, token: str, body: bytes = b"") -> tuple[int, bytes]:
    """Status and body of a request whose target no client has put in order."""
    head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
    with socket.create_connection(("127.0.0.1", site.port)) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    status, _, answer = received.partition(b"\r\n\r\n")
    return int(status.split()[1]), answer


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_a_key_of_its_own(site: Site, storage: Memory, key: str) -> None:
    address = f"{storage.base}/{quote(key, safe='')}".replace(".", "%2E")
    storage.set("neighbour/", "")
    storage.set("neighbour", "")

    assert ask(site, "POST", address, storage.token, b'{"data": "its own"}')[0] == 200

    assert ask(site, "GET", address, storage.token) == (200, b'{"data":"its own"}')
    assert ask(site, "HEAD", address, storage.token)[0] == 200
    assert sorted(storage.keys()) == sorted([key, "neighbour", "neighbour/"])
    assert ask(site, "DELETE", address, storage.token)[0] == 204
    assert storage.keys() == ["neighbour", "neighbour/"]


UPWARDS = ["../../{}", "..%2F..%2F{}", "%2e%2e/%2e%2e/{}", "x/../../../{}", "..%5C..%5C{}"]


@pytest.mark.parametrize("upwards", UPWARDS)
def test_dots_in_a_key_reach_nobody_elses(site, storage, new_agent, make_user, upwards) -> None:
    owner = make_user()
    victim = memory(site, new_agent(owner), owner)
    victim.set("key", "the victim's")
    address = f"{storage.base}/{upwards.format(f'{victim.agent}/key')}"

    assert ask(site, "POST", address, storage.token, b'{"data": "its own"}')[0] == 200
    assert ask(site, "GET", address, storage.token) == (200, b'{"data":"its own"}')
    assert ask(site, "DELETE", address, storage.token)[0] == 204

    assert victim.get("key").json() == {"data": "the victim's"}
    assert victim.keys() == ["key"]


def test_a_client_that_follows_the_dots_itself_finds_nothing(site, storage, new_agent, make_user) -> None:
    owner = make_user()
    victim = memory(site, new_agent(owner), owner)
    victim.set("key", "the victim's")

    for method in ("GET", "DELETE", "PUT"):
        answer = storage.http.request(method, f"{storage.base}/../../{victim.agent}/key")
        assert answer.request.url.path == victim.url("key")
        error_of(answer, 404, "not_found")

    assert victim.get("key").json() == {"data": "the victim's"}


def test_a_slash_may_be_encoded_or_not(site: Site, storage: Memory) -> None:
    storage.set("a/b c", "text")

    assert ask(site, "GET", f"{storage.base}/a/b%20c", storage.token)[0] == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "key", ["x" * 513, quote("ä" * 256 + "x"), "%00", "a%00b", "%FF", "%C3", "%ED%A0%80", "key?a=b"]
)
def test_what_cannot_be_a_key_is_refused(site: Site, storage: Memory, method: str, key: str) -> None:
    storage.set("key", "before")
    status, answer = ask(site, method, f"{storage.base}/{key}", storage.token, b'{"data": "x"}')

    assert status == 400
    assert method == "HEAD" or b'"field":"key"' in answer
    assert storage.keys() == ["key"]
    assert storage.get("key").json() == {"data": "before"}


def test_the_empty_key_is_the_list(storage: Memory) -> None:
    assert storage.http.get(f"{storage.base}/").json() == []
    storage.set("key", "text")

    assert storage.http.get(f"{storage.base}/").json() == storage.http.get(storage.base).json()


def test_a_list_says_what_each_value_is(storage: Memory) -> None:
    storage.set("text", "käse")
    storage.put("image", b"123", "image/png")

    image, text = storage.http.get(storage.base).json()

    assert text == {
        "key": "text",
        "size": 5,
        "content_type": None,
        "etag": storage.get("text").headers["ETag"],
        "modified": text["modified"],
    }
    assert (image["key"], image["size"], image["content_type"]) == ("image", 3, "image/png")


def test_a_list_is_in_the_order_of_bytes(storage: Memory) -> None:
    for key in ("b", "a", "B", "é", "z", "a/b", "a b"):
        storage.set(key, "")

    assert storage.keys() == ["B", "a", "a b", "a/b", "b", "z", "é"]


@pytest.mark.parametrize(
    ("prefix", "keys"),
    [("", 6), ("a", 4), ("a/", 2), ("a%", 1), ("a_", 0), ("A", 0), ("é", 1), ("x", 0), ("\\", 0)],
)
def test_a_list_may_be_of_one_prefix(storage: Memory, prefix: str, keys: int) -> None:
    for key in ("a", "a/1", "a/2", "a%", "b", "é"):
        storage.set(key, "")

    found = storage.keys(prefix=prefix)

    assert len(found) == keys
    assert all(key.startswith(prefix) for key in found)


def test_pages_link_to_the_next_until_all_are_seen(storage: Memory) -> None:
    keys = sorted(["p/" + name for name in ("a&b", "a b", "c+d", "é", "#", "?", "7")], key=str.encode)
    for key in (*keys, "other"):
        storage.set(key, "")

    seen, url = [], f"{storage.base}?prefix=p/&limit=3"
    while url:
        page = storage.http.get(url)
        assert len(page.json()) <= 3
        seen += [entry["key"] for entry in page.json()]
        link = re.fullmatch(r'<([^>]+)>; rel="next"', page.headers.get("Link", ""))
        url = link[1] if link else ""

    assert seen == keys
    assert storage.keys(after="p/a b", prefix="p/") == [key for key in keys if key > "p/a b"]
    assert storage.keys(after="p/z", limit=1) == ["p/é"]


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": -1}, {"limit": "x"}, {"prefix": "\0"}, {"after": "\0"}])
def test_a_page_that_cannot_be_is_refused(storage: Memory, query: dict[str, str]) -> None:
    error = error_of(storage.http.get(storage.base, params=query), 400, "invalid_request")

    assert error["details"]["field"] == next(iter(query))


def test_all_keys_there_may_be_come_in_one_list(storage: Memory) -> None:
    from storage_kv.models import StorageUsage, StoredValue

    storage.set("key", "")
    usage, value = StorageUsage.objects.latest("pk"), StoredValue.objects.latest("pk")
    more = [f"more/{number}" for number in range(999)]
    same = {"user": usage.user, "agent": usage.agent, "version": value.version, "content_type": "", "value": b""}
    StoredValue.objects.bulk_create(StoredValue(key=key, **same) for key in more)
    StorageUsage.objects.filter(pk=usage.pk).update(keys=1000)

    answer = storage.http.get(storage.base)

    assert len(answer.json()) == 1000
    assert "Link" not in answer.headers
    assert storage.keys(limit=5000) == storage.keys()
    error = error_of(storage.set("one too many", ""), 413, "payload_too_large")
    assert error["details"] == {"field": "key", "limit": 1000}
