"""Uploads that are announced, sent by a signed URL, and completed. The same over files and over S3."""

import hashlib
import os
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from common.ids import uuid7
from tests.embeds.keeper import PNG, Keeper, send
from tests.sessions_app.people import error_of


@pytest.fixture(params=["site", "s3_site"])
def ann(request: pytest.FixtureRequest, make_user: Callable[..., Any], api_key: Callable[..., str]) -> Keeper:
    return Keeper.new(request.getfixturevalue(request.param), make_user(), api_key)


@pytest.fixture
def in_s3(ann: Keeper, request: pytest.FixtureRequest) -> bool:
    return bool(request.node.callspec.params["ann"] == "s3_site")


def refusal(answer: httpx2.Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    return error_of(answer)


def test_an_upload_goes_where_it_was_told_and_becomes_an_embed(ann: Keeper, in_s3: bool, request: Any) -> None:
    content = os.urandom(300_000)
    sha256 = hashlib.sha256(content).hexdigest()
    upload = ann.announce(content, "application/octet-stream", sha256=sha256.upper())
    assert upload.keys() == {"id", "method", "url", "headers", "expires"}
    expected = request.getfixturevalue("s3").url if in_s3 else f"{ann.site.url}/attachment/uploads/"
    assert upload["url"].startswith(expected)
    assert send(upload, content).status_code == 200
    embed = ann.complete(upload)
    assert embed.status_code == 201, embed.text
    assert (embed.json()["sha256"], embed.json()["size"]) == (sha256, len(content))
    assert httpx2.get(embed.json()["url"], follow_redirects=True).content == content
    assert ann.left_behind() == (1, 0)
    assert refusal(ann.complete(upload), 404)["code"] == "not_found"


def test_an_upload_may_be_sent_again_until_it_is_completed(ann: Keeper, content: bytes) -> None:
    upload = ann.announce(content)
    assert send(upload, b"X" * len(content)).status_code == 200
    assert send(upload, content).status_code == 200
    embed = ann.complete(upload).json()
    assert httpx2.get(embed["url"], follow_redirects=True).content == content


def test_what_is_sent_after_completion_changes_nothing(ann: Keeper, content: bytes) -> None:
    upload = ann.announce(content)
    send(upload, content)
    embed = ann.complete(upload).json()
    send(upload, b"X" * len(content))
    assert httpx2.get(embed["url"], follow_redirects=True).content == content


def test_an_upload_that_nobody_sent_cannot_be_completed(ann: Keeper) -> None:
    assert refusal(ann.complete(ann.announce(b"12345")), 400)["details"]["field"] == "upload"
    assert ann.left_behind() == (0, 1)


def test_bytes_other_than_announced_are_refused(ann: Keeper, content: bytes) -> None:
    upload = ann.announce(content, sha256=hashlib.sha256(b"other").hexdigest())
    send(upload, content)
    assert refusal(ann.complete(upload), 400)["details"]["field"] == "sha256"
    lying = ann.announce(PNG, "application/pdf")
    send(lying, PNG)
    assert refusal(ann.complete(lying), 400)["details"]["field"] == "content_type"
    assert ann.left_behind() == (0, 2)


def test_the_link_takes_nothing_but_what_was_announced(ann: Keeper) -> None:
    upload = ann.announce(b"12345", "text/plain")
    assert send(upload, b"1234567", **{"content-length": "7"}).status_code in (400, 403)
    assert send(upload, b"12345", **{"content-type": "text/html"}).status_code in (400, 403)
    assert httpx2.get(upload["url"]).status_code in (403, 405)
    assert httpx2.put(upload["url"].replace("ature=", "ature=0"), content=b"12345").status_code == 403
    assert refusal(ann.complete(upload), 400)["details"]["field"] == "upload"


@pytest.mark.parametrize(
    ("announced", "field"),
    [
        ({"content_type": "nonsense"}, "content_type"),
        ({"size": -1}, "size"),
        ({"size": "many"}, "size"),
        ({"sha256": "abc"}, "sha256"),
    ],
)
def test_an_announcement_that_makes_no_sense_is_refused(ann: Keeper, announced: dict[str, Any], field: str) -> None:
    answer = ann.http.post("/api/embeds/uploads", json={"content_type": "a/b", "size": 1, **announced})
    assert refusal(answer, 400)["details"]["field"] == field
    assert ann.left_behind() == (0, 0)


def test_an_upload_that_is_not_there_is_not_found(ann: Keeper) -> None:
    assert refusal(ann.complete({"id": uuid7()}), 404)["code"] == "not_found"
