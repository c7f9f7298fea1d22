"""Uploading: by form, by `data:` URI, by URL; and what is refused, with no trace left."""

import base64
import gzip
import hashlib
import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.agents import ScriptedAgent, answer, raw, redirect
from tests.embeds.keeper import PNG, Keeper, send
from tests.sessions_app.embedded import data_uri
from tests.sessions_app.people import error_of
from tests.sites import Site, free_port, running_site

KIB = 1024
SMALL = {"EMBED_MAX_BYTES": str(100 * KIB), "EMBED_MAX_BYTES_PER_USER": str(250 * KIB)}


@pytest.fixture(scope="module")
def small_site(database: None) -> Iterator[Site]:
    """A site with small limits that calls no private address."""
    with running_site(**SMALL, AGENT_URL_ALLOW_PRIVATE="false") as site:
        yield site


@pytest.fixture
def bob(small_site: Site, make_user: Callable[..., Any], api_key: Callable[..., str]) -> Iterator[Keeper]:
    """Somebody on the site with the small limits."""
    bob = Keeper.new(small_site, make_user(), api_key)
    yield bob
    bob.http.close()


def is_refused(answer: Any, status: int, code: str, field: str | None = None) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    error = error_of(answer)
    assert error["code"] == code
    if field is not None:
        assert error["details"]["field"] == field
    return error


def test_a_form_uploads_a_file_and_tells_all_about_it(ann: Keeper, content: bytes) -> None:
    embed = ann.uploaded(content, "Text/Plain; charset=UTF-8")
    assert embed.keys() == {"id", "content_type", "name", "size", "sha256", "url", "created"}
    assert embed["content_type"] == "text/plain; charset=UTF-8"
    assert (embed["size"], embed["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert embed["url"].startswith(f"{ann.site.url}/attachment/{embed['id']}?")
    assert ann.site.client().get(embed["url"]).content == content


def test_the_same_bytes_and_type_are_the_same_embed(ann: Keeper, content: bytes) -> None:
    from embeds.models import Blob

    first = ann.uploaded(content)
    assert ann.uploaded(content)["id"] == first["id"]
    other_type = ann.uploaded(content, "application/x-other")
    assert other_type["id"] != first["id"]
    assert Blob.objects.filter(sha256=first["sha256"]).count() == 1
    assert ann.left_behind() == (2, 0)


def test_files_of_two_names_are_two_embeds_over_the_same_bytes(ann: Keeper, content: bytes) -> None:
    from embeds.models import Embed

    first, same, other = (ann.uploaded(content, name=name) for name in ("notes.txt", "notes.txt", "Übung 1.txt"))
    assert first["name"] == "notes.txt"
    assert same["id"] == first["id"]
    assert other["name"] == "Übung 1.txt"
    assert other["id"] != first["id"]
    assert Embed.objects.filter(blob__sha256=first["sha256"]).values("blob").distinct().count() == 1


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd", "etc passwd"),
        ("C:\\temp\\a.txt", "C temp a.txt"),
        ("invoice\u202efdp.exe", "invoice fdp.exe"),
        ("a\r\nSet-Cookie: x.txt", "a Set-Cookie x.txt"),
        ("..", ""),
        ("x" * 500 + ".tar.gz", "x" * 117 + ".gz"),
        ("Grüße 東京 👩‍👩‍👧.md", "Grüße 東京 👩‍👩‍👧.md"),
    ],
)
def test_a_name_is_kept_as_far_as_it_is_one(ann: Keeper, content: bytes, given: str, kept: str) -> None:
    named = ann.http.post("/api/embeds", json={"uri": data_uri(content), "name": given}).json()
    assert named["name"] == kept
    announced = ann.announce(content, name=given)
    send(announced, content)
    assert ann.complete(announced).json()["id"] == named["id"]


def test_a_file_by_reference_keeps_the_name_that_it_has_here(ann: Keeper, content: bytes) -> None:
    mine = ann.uploaded(content, name="notes.txt")
    again = ann.http.post("/api/embeds", json={"uri": mine["url"], "name": "other.txt"}).json()
    assert again["id"] == mine["id"]
    assert ann.refer(data_uri(content)).json()["name"] == ""


def test_two_people_share_the_bytes_but_not_the_embed(
    ann: Keeper, keeper: Callable[[], Keeper], content: bytes
) -> None:
    from embeds.models import Embed

    mine, theirs = ann.uploaded(content), keeper().uploaded(content)
    assert mine["id"] != theirs["id"]
    assert len(set(Embed.objects.filter(pk__in=[mine["id"], theirs["id"]]).values_list("blob", flat=True))) == 1


def test_an_empty_file_is_a_file(ann: Keeper) -> None:
    embed = ann.uploaded(b"")
    assert embed["size"] == 0
    assert ann.site.client().get(embed["url"]).content == b""


@pytest.mark.parametrize("form", ["data:text/plain;base64,{}", "data:base64,{}"])
def test_a_data_uri_is_an_upload(ann: Keeper, content: bytes, form: str) -> None:
    made = ann.refer(form.format(base64.b64encode(content).decode()), "application/x-data")
    assert made.status_code == 201
    assert (made.json()["content_type"], made.json()["size"]) == ("application/x-data", len(content))
    assert ann.site.client().get(made.json()["url"]).content == content


def test_an_address_is_fetched_once_and_kept(ann: Keeper, web: ScriptedAgent, content: bytes) -> None:
    web.on("/fetched", redirect(f"{web.url}/there"), method="GET")
    web.on("/there", answer(body=content, content_type="text/csv"), method="GET")
    made = ann.http.post("/api/embeds", json={"uri": f"{web.url}/fetched"})
    assert made.status_code == 201, made.text
    assert made.json()["content_type"] == "text/csv"
    assert ann.site.client().get(made.json()["url"]).content == content


def test_our_own_link_is_an_embed_of_the_same_bytes_without_a_request(
    ann: Keeper, keeper: Callable[[], Keeper], content: bytes
) -> None:
    source = ann.uploaded(content, "text/csv")
    bob = keeper()
    made = bob.refer(source["url"], "image/png")
    assert made.status_code == 201, made.text
    assert (made.json()["content_type"], made.json()["sha256"]) == ("text/csv", source["sha256"])
    assert made.json()["id"] != source["id"]
    changed = source["url"].replace("signature=", "signature=x")
    is_refused(bob.refer(changed), 403, "link_refused")
    is_refused(bob.refer(source["url"] + "&a=b" * 1000), 400, "invalid_request", "uri")
    assert bob.left_behind() == (1, 0)


def test_an_address_that_cannot_be_had_leaves_nothing(ann: Keeper, web: ScriptedAgent) -> None:
    web.on("/broken", raw(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nsome"), method="GET")
    web.on("/gone", answer(body=b"", status=404), method="GET")
    is_refused(ann.refer(f"{web.url}/gone"), 502, "agent_invalid_response")
    is_refused(ann.refer(f"{web.url}/broken"), 502, "agent_invalid_response")
    is_refused(ann.refer(f"http://127.0.0.1:{free_port()}/x"), 502, "agent_unreachable")
    for nonsense in (
        "",
        "ftp://a/b",
        "file:///etc/passwd",
        "http://",
        "javascript:alert(1)",
        "http://a b/",
        "x" * 3000,
    ):
        is_refused(ann.refer(nonsense), 400, "invalid_request", "uri")
    assert ann.left_behind() == (0, 0)


def test_an_address_that_redirects_to_a_private_one_is_refused(bob: Keeper, web: ScriptedAgent) -> None:
    web.on("/inside", answer(body=b"secret"), method="GET")
    error = is_refused(bob.refer(f"{web.url}/inside"), 502, "agent_unreachable")
    assert "loopback" in error["message"]
    assert not error["details"].get("content")
    assert [each.path for each in web.requests if each.path == "/inside"] == []
    assert bob.left_behind() == (0, 0)


def test_a_zip_bomb_is_just_bytes_as_a_file_and_refused_as_an_encoding(
    ann: Keeper, bob: Keeper, web: ScriptedAgent
) -> None:
    bomb = gzip.compress(bytes(100 * 1024 * KIB)) + uuid.uuid4().bytes
    embed = ann.uploaded(bomb, "application/gzip")
    assert ann.site.client().get(embed["url"]).content == bomb
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    is_refused(bob.http.post("/api/embeds", content=bomb, headers=headers), 400, "invalid_request", "Content-Encoding")
    assert bob.left_behind() == (0, 0)


def test_an_answer_that_inflates_is_stopped_at_the_limit(ann: Keeper, web: ScriptedAgent) -> None:
    bomb = gzip.compress(bytes(26 * 1024 * KIB))
    web.on("/bomb", answer(body=bomb, headers={"content-encoding": "gzip"}), method="GET")
    error = is_refused(ann.refer(f"{web.url}/bomb"), 502, "agent_invalid_response")
    assert error["details"]["max_bytes"] == 25 * 1024 * KIB
    assert ann.left_behind() == (0, 0)


@pytest.mark.parametrize("content_type", ["png", "image/", "x" * 300, "image/png\t\x01"])
def test_what_is_no_content_type_is_refused(ann: Keeper, content_type: str) -> None:
    is_refused(ann.refer("data:,x", content_type), 400, "invalid_request", "content_type")
    assert ann.left_behind() == (0, 0)


def test_a_lying_content_type_is_refused(ann: Keeper) -> None:
    html = b"<html><script>alert(1)</script></html>"
    is_refused(ann.upload(html, "image/png"), 400, "invalid_request", "content_type")
    is_refused(ann.refer("data:text/html,<html>", "image/png"), 400, "invalid_request", "content_type")
    assert ann.left_behind() == (0, 0)
    assert ann.uploaded(PNG, "image/png")["content_type"] == "image/png"


@pytest.mark.parametrize(
    ("body", "content_type", "field"),
    [
        (b"{", "application/json", "body"),
        (b"[]", "application/json", None),
        (b"{}", "application/json", "uri"),
        (b'{"uri": 1}', "application/json", "uri"),
        (b"\x89PNG", "image/png", "body"),
        (b"--x\r\n", "multipart/form-data", "body"),
        (b"--x\r\n\r\n", "multipart/form-data; boundary=x", "file"),
        (
            b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\ntext\r\n--x--',
            "multipart/form-data; boundary=x",
            "file",
        ),
    ],
)
def test_a_body_that_is_no_upload_is_refused(ann: Keeper, body: bytes, content_type: str, field: str | None) -> None:
    answer = ann.http.post("/api/embeds", content=body, headers={"Content-Type": content_type})
    is_refused(answer, 400, "invalid_request", field)
    assert ann.left_behind() == (0, 0)


def test_an_embed_has_its_limit_however_it_comes(bob: Keeper, content: bytes) -> None:
    limit = 100 * KIB
    fits, more = os.urandom(limit), os.urandom(limit + 1)
    assert bob.upload(fits).status_code == 201
    for refused in (
        bob.upload(more),
        bob.refer("data:base64," + base64.b64encode(more).decode()),
        bob.http.post("/api/embeds/uploads", json={"content_type": "a/b", "size": limit + 1}),
    ):
        assert is_refused(refused, 413, "payload_too_large")["details"]["limit"] == limit
    assert bob.left_behind() == (1, 0)


def test_a_form_may_come_in_chunks(ann: Keeper, content: bytes) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\nContent-Type: text/plain\r\n\r\n'
    pieces = iter([head, content, b"\r\n--x--\r\n"])
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    made = ann.http.post("/api/embeds", content=pieces, headers=headers)
    assert made.status_code == 201, made.text
    assert made.json()["sha256"] == hashlib.sha256(content).hexdigest()


def test_all_embeds_of_a_user_have_a_limit_that_uploads_to_come_count_in(bob: Keeper) -> None:
    pieces = [os.urandom(100 * KIB) for _ in range(3)]
    assert bob.upload(pieces[0]).status_code == 201
    upload = bob.announce(pieces[1])
    error = is_refused(bob.upload(pieces[2]), 413, "payload_too_large")
    assert error["details"] == {"field": "size", "limit": 250 * KIB, "used": 202 * KIB}
    # What is there already takes no more room.
    assert bob.upload(pieces[0]).status_code == 201
    is_refused(bob.complete(upload), 400, "invalid_request")
    assert bob.left_behind() == (1, 1)


def test_parallel_uploads_do_not_pass_the_limit(bob: Keeper) -> None:
    from concurrent.futures import ThreadPoolExecutor

    contents = [os.urandom(100 * KIB) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(answer.status_code for answer in pool.map(bob.upload, contents))
    assert statuses == [201, 201, 413, 413, 413, 413]
    assert bob.left_behind() == (2, 0)


def test_parallel_uploads_of_the_same_bytes_are_one_embed(ann: Keeper, content: bytes) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from embeds.models import Blob

    with ThreadPoolExecutor(8) as pool:
        ids = {answer.json()["id"] for answer in pool.map(ann.upload, [content] * 8)}
    assert len(ids) == 1
    assert Blob.objects.filter(sha256=hashlib.sha256(content).hexdigest()).count() == 1
