"""Setting, reading and deleting one value: the package's texts, and raw bytes on the same addresses."""

import base64
import json
import time

import pytest

from tests.storage_kv.memories import Memory, error_of, memory

PNG = b"\x89PNG\r\n\x1a\n\0\xff"
TEXTS = ["", "plain", '{"a": [1, null]}', "a\0b", "käse 🧀", "line\nbreak", '"', " ", "\\u0000"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_back_as_it_was_set(storage: Memory, text: str) -> None:
    written = storage.set("key", text)
    assert written.status_code == 200, written.text
    entry = written.json()
    size = len(text.encode())
    assert (entry["key"], entry["size"], entry["content_type"]) == ("key", size, None)
    assert written.headers["ETag"] == entry["etag"]

    read = storage.get("key")

    assert read.json() == {"data": text}
    assert read.headers["ETag"] == entry["etag"]
    assert storage.usage() == (1, size)


@pytest.mark.parametrize("value", [b"", PNG, bytes(range(256)), b"{}"])
def test_bytes_come_back_as_they_were_put_with_their_type(storage: Memory, value: bytes) -> None:
    written = storage.put("key", value, "image/png; a=1")
    assert written.status_code == 201, written.text
    assert written.json()["content_type"] == "image/png; a=1"

    read = storage.get("key")

    assert read.content == value
    assert read.headers["Content-Type"] == "image/png; a=1"
    assert read.headers["ETag"] == written.headers["ETag"] == written.json()["etag"]


def test_bytes_without_a_type_are_just_bytes(storage: Memory) -> None:
    storage.http.put(storage.url("key"), content=PNG)

    assert storage.get("key").headers["Content-Type"] == "application/octet-stream"


def test_a_page_with_scripts_is_harmless_where_it_lies(storage: Memory) -> None:
    storage.put("page", b"<script>alert(1)</script>", "text/html")

    headers = storage.get("page").headers

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Disposition"] == "attachment"
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "private" in headers["Cache-Control"]


def test_each_way_of_setting_replaces_what_the_other_has_set(storage: Memory) -> None:
    storage.set("key", "text")
    assert storage.put("key", PNG).status_code == 200
    assert storage.get("key").content == PNG
    assert storage.usage() == (1, len(PNG))

    storage.set("key", "again")
    assert storage.get("key").json() == {"data": "again"}
    assert storage.usage() == (1, 5)


@pytest.mark.parametrize("accept", ["text/plain", "application/octet-stream", "text/*"])
def test_a_text_may_be_read_as_bytes(storage: Memory, accept: str) -> None:
    storage.set("key", "käse")

    read = storage.get("key", accept=accept)

    assert read.content == "käse".encode()
    assert read.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert read.headers["X-Content-Type-Options"] == "nosniff"


def test_bytes_may_be_read_as_the_json_in_which_the_package_packs_bytes(storage: Memory) -> None:
    storage.put("key", PNG)

    data = storage.get("key", accept="application/json").json()["data"]

    assert json.loads(data) == {"type": "_bytes_ascii", "data": base64.b64encode(PNG).decode()}


@pytest.mark.parametrize("accept", ["*/*", "text/html, */*;q=0.8", "application/json, */*", "application/json", "x/y"])
def test_a_json_document_that_was_put_comes_back_itself(storage: Memory, accept: str) -> None:
    storage.put("key", b'{"a":1}', "application/json")

    assert storage.get("key", accept=accept).json() == {"a": 1}


@pytest.mark.parametrize("accept", ["*/*", "text/html, */*;q=0.8", "application/json, */*", "image/png", "x/y"])
def test_whoever_takes_anything_gets_a_value_as_it_was_set(storage: Memory, accept: str) -> None:
    storage.put("bytes", PNG)
    storage.set("text", "text")

    assert storage.get("bytes", accept=accept).content == PNG
    assert storage.get("text", accept=accept.replace("image/png", "*/*")).json() == {"data": "text"}


def test_head_says_whether_a_key_is_there(storage: Memory) -> None:
    storage.set("key", "text")

    there, missing = storage.http.head(storage.url("key")), storage.http.head(storage.url("other"))

    assert (there.status_code, there.content) == (200, b"")
    assert there.headers["ETag"] == storage.get("key").headers["ETag"]
    assert (missing.status_code, missing.content) == (404, b"")


def test_a_deleted_key_is_gone(storage: Memory) -> None:
    storage.set("key", "text")

    assert storage.delete("key").status_code == 204

    for answer in (storage.get("key"), storage.delete("key")):
        assert error_of(answer, 404, "not_found")["details"] == {"field": "key"}
    assert storage.usage() == (0, 0)


def test_who_has_the_newest_version_is_not_sent_it_again(storage: Memory) -> None:
    storage.set("key", "text")
    etag = storage.get("key").headers["ETag"]

    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = storage.get("key", if_none_match=known)
        assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", etag)
    storage.set("key", "text")
    assert storage.get("key", if_none_match=etag).status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"{", "body"),
        (b'{"data": "\\ud800"}', "body"),
        (b'{"data": "\xff"}', "body"),
        (b"[]", "data"),
        (b"null", "data"),
        (b"{}", "data"),
        (b'{"data": 1}', "data"),
        (b'{"data": null}', "data"),
        (b'{"data": {"a": "b"}}', "data"),
    ],
)
def test_what_is_no_text_in_json_is_refused(storage: Memory, body: bytes, field: str) -> None:
    storage.set("key", "before")

    error = error_of(storage.http.post(storage.url("key"), content=body), 400, "invalid_request")

    assert error["details"] == {"field": field}
    assert storage.get("key").json() == {"data": "before"}


@pytest.mark.parametrize("content_type", ["png", "image/", "a/\tb", "a/b c", "image/" + "x" * 250])
def test_what_is_no_media_type_is_refused(storage: Memory, content_type: str) -> None:
    error = error_of(storage.put("key", PNG, content_type), 400, "invalid_request")

    assert error["details"] == {"field": "Content-Type"}
    assert storage.usage() == (0, 0)


def test_other_methods_are_refused_in_the_shape_of_all_errors(storage: Memory) -> None:
    error_of(storage.http.patch(storage.url("key")), 405, "invalid_request")
    error_of(storage.http.post(storage.base, json={"data": "x"}), 405, "invalid_request")
    error_of(storage.http.post(f"{storage.base}/", json={"data": "x"}), 405, "invalid_request")
    error_of(storage.http.delete(f"{storage.base}/"), 405, "invalid_request")


def test_two_agents_and_two_users_keep_apart(site, storage, new_agent, make_user) -> None:
    storage.set("key", "mine")
    other_agent = memory(site, new_agent(), make_user())
    other_user = memory(site, storage.agent, make_user())

    for other in (other_agent, other_user):
        assert other.get("key").status_code == 404
        assert other.keys() == []
        other.set("key", "theirs")

    assert storage.get("key").json() == {"data": "mine"}


def test_a_value_says_when_it_was_written(storage: Memory) -> None:
    storage.set("key", "1")
    first = storage.http.get(storage.base).json()[0]["modified"]
    time.sleep(0.01)
    storage.set("key", "2")

    assert storage.http.get(storage.base).json()[0]["modified"] > first
