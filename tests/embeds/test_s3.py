"""Embeds in S3: bytes go to and from it directly, by URLs that it checks; and when it is away, that is said."""

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from tests.embeds.keeper import PNG, Json, Keeper, send
from tests.s3_server.server import BUCKET, S3Server
from tests.sessions_app.people import error_of
from tests.sites import Site, free_port, running_site


@pytest.fixture
def ann(s3_site: Site, make_user: Callable[..., Any], api_key: Callable[..., str]) -> Iterator[Keeper]:
    ann = Keeper.new(s3_site, make_user(), api_key)
    yield ann
    ann.http.close()


@pytest.fixture
def embed(ann: Keeper, content: bytes) -> Json:
    return ann.uploaded(content)


def address(embed: Json, method: str = "GET") -> str:
    """Where the link leads to."""
    answer = httpx2.request(method, embed["url"])
    assert answer.status_code == 302, answer.text
    return str(answer.headers["location"])


def code(answer: httpx2.Response) -> str:
    return answer.text.partition("<Code>")[2].partition("</Code>")[0]


def test_an_upload_lies_in_the_bucket_once(ann: Keeper, s3: S3Server, content: bytes) -> None:
    before = s3.names()
    first = ann.uploaded(content)
    assert ann.uploaded(content, "text/csv")["sha256"] == first["sha256"]
    (name,) = s3.names() - before
    assert s3.client.get_object(Bucket=BUCKET, Key=name)["Body"].read() == content


def test_a_link_leads_to_s3_which_gives_the_bytes_as_we_say(ann: Keeper, s3: S3Server, content: bytes) -> None:
    embed = ann.uploaded(PNG + content, "image/png", name="Käse.png")
    redirect = httpx2.get(embed["url"])
    assert redirect.headers["cache-control"] == "private, max-age=150"
    assert address(embed).startswith(s3.url)
    answer = httpx2.get(embed["url"], follow_redirects=True)
    assert answer.content == PNG + content
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["content-disposition"] == "inline; filename*=utf-8''K%C3%A4se.png"
    part = httpx2.get(embed["url"], follow_redirects=True, headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, PNG[:4])


def test_what_could_run_comes_from_s3_as_a_file_to_save(ann: Keeper, content: bytes) -> None:
    embed = ann.uploaded(b"<html><script>alert(1)</script>" + content, "text/html")
    answer = httpx2.get(embed["url"], follow_redirects=True)
    assert answer.headers["content-disposition"].startswith("attachment; ")


def test_head_is_signed_for_head(embed: Json, content: bytes) -> None:
    answer = httpx2.head(embed["url"], follow_redirects=True)
    assert (answer.status_code, answer.headers["content-length"]) == (200, str(len(content)))


def test_s3_refuses_a_link_that_has_been_changed(ann: Keeper, embed: Json, content: bytes) -> None:
    other = ann.uploaded(content + b"!")
    good = address(embed)
    name, other_name = (address(each).partition(f"/{BUCKET}/")[2].partition("?")[0] for each in (embed, other))
    for changed in (
        good.replace("response-content-type=text", "response-content-type=image"),
        good.replace("attachment", "inline").replace("inline", "attachment", 0) + "x",
        good.replace(name, other_name),
        good.replace("X-Amz-Expires=300", "X-Amz-Expires=3000"),
    ):
        assert changed != good
        answer = httpx2.get(changed)
        assert (answer.status_code, code(answer)) == (403, "SignatureDoesNotMatch")
    assert httpx2.get(good).status_code == 200


def test_s3_refuses_a_link_used_with_another_method(embed: Json, ann: Keeper, content: bytes) -> None:
    good = address(embed)
    assert httpx2.put(good, content=b"other").status_code == 403
    assert httpx2.delete(good).status_code == 403
    assert httpx2.get(address(embed, "HEAD")).status_code == 403
    upload = ann.announce(content)
    send(upload, content)
    assert httpx2.get(upload["url"]).status_code == 403
    assert httpx2.get(good).content == content


def test_s3_refuses_a_link_that_has_expired(s3: S3Server, s3_site: Site, embed: Json, content: bytes) -> None:
    name = address(embed).partition(f"/{BUCKET}/")[2].partition("?")[0]
    at = {"Bucket": BUCKET, "Key": name}
    url = s3.client.generate_presigned_url("get_object", Params=at, ExpiresIn=1)
    assert httpx2.get(url).content == content
    time.sleep(2.1)
    answer = httpx2.get(url)
    assert (answer.status_code, code(answer)) == (403, "AccessDenied")


def test_deleting_an_embed_empties_its_place_in_the_bucket(ann: Keeper, s3: S3Server, content: bytes) -> None:
    before = s3.names()
    embed = ann.uploaded(content)
    assert len(s3.names() - before) == 1
    assert ann.http.delete(f"/api/embeds/{embed['id']}").status_code == 204
    assert s3.names() == before


def test_a_completed_upload_lies_in_the_bucket_once(ann: Keeper, s3: S3Server) -> None:
    content = os.urandom(2_000_000)
    before = s3.names()
    upload = ann.announce(content, "application/octet-stream", sha256=hashlib.sha256(content).hexdigest())
    assert send(upload, content).status_code == 200
    assert ann.complete(upload).status_code == 201
    assert len(s3.names() - before) == 1


def test_what_is_refused_leaves_nothing_in_the_bucket(ann: Keeper, s3: S3Server) -> None:
    before = s3.names()
    assert ann.upload(b"<html>", "image/png").status_code == 400
    assert s3.names() == before


def test_without_s3_uploads_are_told_to_come_again(s3: S3Server, make_user: Any, api_key: Any, content: bytes) -> None:
    nowhere = {**s3.settings, "AWS_S3_ENDPOINT_URL": f"http://127.0.0.1:{free_port()}"}
    with running_site(**nowhere) as site:
        ann = Keeper.new(site, make_user(), api_key)
        answer = ann.upload(content)
        assert answer.status_code == 503
        error = error_of(answer)
        assert error["retryable"]
        assert "storage of attachments" in error["message"]
        assert ann.left_behind() == (0, 0)
        assert site.client().get("/readyz").status_code == 200
