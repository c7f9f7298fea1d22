"""Crawling what is bad or broken: each page a readable result, and always an end."""

import asyncio
import gzip
import socket
import time

import pytest
from django.conf import settings

from registry.corpora import fetching
from tests.agents import Behaviour, Exchange, answer, drip, hang, raw, redirect
from tests.registry.corpora.websites import Website, crawled, limits, page, read, stopped, unread

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8


def endless(*links: str) -> Behaviour:
    """Every page has a text of its own, and links to pages nobody has seen yet."""
    count = 0

    async def behave(exchange: Exchange) -> None:
        nonlocal count
        count += 1
        path = exchange.request.path
        await page(*[link.format(count=count, path=path) for link in links], text=f"Page {count}.")(exchange)

    return behave


async def test_a_calendar_without_end_ends() -> None:
    with Website(endless("/calendar?month={count}", "/calendar?day={count}&view=week")) as website:
        results = await crawled([f"{website.url}/*"], within=limits(documents=400, depth=300))
        assert 10 < len(website.paths) < 60
        assert not stopped(results)


async def test_paths_that_grow_for_ever_end() -> None:
    with Website(endless("{path}/again", "{path}/and/again")) as website:
        results = await crawled([f"{website.url}/a/*"], within=limits(documents=400, depth=300))
        assert not stopped(results)
        assert len(website.paths) < 20


async def test_pages_that_always_lead_to_new_ones_end_at_the_limit() -> None:
    with Website(endless("/{count}", "/x{count}", "/y{count}")) as website:
        results = await crawled([f"{website.url}/*"], within=limits(documents=10))
        assert len(read(results)) == 10
        assert stopped(results) == "A corpus may have 10 documents; the rest was not read."


async def test_errors_without_end_end_too() -> None:
    broken = answer(body=b"", status=500)

    async def behave(exchange: Exchange) -> None:
        links = [f"/{number}" for number in range(300)]
        await (page(*links) if exchange.request.path == "/" else broken)(exchange)

    with Website(behave) as website:
        results = await crawled([f"{website.url}/*"], within=limits(documents=2))
        assert len(website.requests) == 108
        assert stopped(results) == "Only 1 of 108 attempts made a document; the rest was not read."


async def test_redirects_in_a_circle_are_not_followed_for_ever(website: Website) -> None:
    website.get("/a", redirect("/b"))
    website.get("/b", redirect("/a"))
    website.get("/self", redirect("/self"))
    website.get("/far", redirect("http://[nowhere"))
    results = await crawled([f"{website.url}/a", f"{website.url}/self", f"{website.url}/far"])
    assert unread(results, website.url) == {
        "/a": "It redirects in a circle.",
        "/self": "It redirects in a circle.",
        "/far": "It redirects to http://[nowhere, which cannot be read.",
    }


async def test_many_redirects_are_too_many(website: Website) -> None:
    for number in range(9):
        website.get(f"/{number}", redirect(f"/{number + 1}"))
    results = await crawled([f"{website.url}/0"])
    assert unread(results, website.url) == {"/0": "It redirects more than 5 times."}


async def test_ten_gigabytes_are_not_read(website: Website) -> None:
    async def ten_gigabytes(exchange: Exchange) -> None:
        await exchange.head(200, {"content-type": "text/html", "content-length": str(10**10)})
        while True:
            await exchange.write(bytes(65536))

    website.page("/", "/announced", "/streamed", "/bomb")
    website.get("/announced", ten_gigabytes)
    website.get("/streamed", drip(b"x" * 65536, delay=0))
    bomb = gzip.compress(bytes(10_000_000))
    website.get("/bomb", answer(body=bomb, content_type="text/plain", headers={"content-encoding": "gzip"}))
    results = await crawled([f"{website.url}/*"])
    assert unread(results, website.url) == {
        "/announced": "It is larger than 200000 bytes.",
        "/streamed": "The server's answer is larger than 200000 bytes.",
        "/bomb": "The server's answer is larger than 200000 bytes.",
    }


async def test_all_documents_together_are_bounded(website: Website) -> None:
    website.page("/", *[f"/{number}" for number in range(9)])
    for number in range(9):
        website.text(f"/{number}", f"{number} " * 5000)
    results = await crawled([f"{website.url}/*"], within=limits(total_bytes=30_000))
    assert len(read(results)) == 4
    assert stopped(results) == "A corpus may have 30000 bytes; the rest was not read."


async def test_what_is_no_text_is_skipped(website: Website) -> None:
    website.page("/", "/a.png", "/b", "/c", "/empty")
    website.get("/a.png", answer(body=PNG, content_type="image/png"))
    website.get("/b", answer(body=PNG, content_type="text/plain"))
    website.get("/c", answer(body=PNG, content_type="application/octet-stream"))
    website.get("/empty", answer(body=b"", content_type="text/html"))
    results = await crawled([f"{website.url}/*"])
    assert unread(results, website.url) == {
        "/a.png": "Documents of type image/png cannot be read.",
        "/b": "It is not text but binary data.",
        "/c": "It is not text but binary data.",
        "/empty": "There is no text in it.",
    }


async def test_servers_that_misbehave_say_why_they_were_not_read(website: Website) -> None:
    website.page("/", "/missing", "/garbage", "/cut", "/status")
    website.get("/garbage", raw(b"I am no HTTP\r\n\r\n"))
    website.get("/cut", raw(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 500\r\n\r\nHalf a"))
    website.get("/status", answer(body=b"", status=418))
    results = await crawled([f"{website.url}/*"])
    assert unread(results, website.url) == {
        "/missing": "The server answered with HTTP status 404.",
        "/garbage": "The server broke off in the middle of its answer, or does not speak HTTP.",
        "/cut": "The server broke off in the middle of its answer, or does not speak HTTP.",
        "/status": "The server answered with HTTP status 418.",
    }


async def test_hosts_that_cannot_be_reached_say_so() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refused = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        urls = ["http://nowhere.invalid/*", refused, "not a url", "https://a*b.example/", "http://127.0.0.1:22/"]
        results = await crawled(urls)
    assert unread(results) == {
        "http://nowhere.invalid/": "The name nowhere.invalid does not resolve.",
        refused: "The server's machine refused the connection.",
        "not a url": "The URL must not contain spaces, control characters or backslashes.",
        "https://a*b.example/": "The URL must not contain a * but at its end.",
        "http://127.0.0.1:22/": "The URL has a port that no agent may use (22).",
    }


async def test_private_addresses_are_not_read_unless_allowed(website: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "AGENT_URL_ALLOW_PRIVATE", False)
    website.page("/")
    results = await crawled([f"{website.url}/*"])
    assert list(unread(results).values()) == ["127.0.0.1 leads to a loopback address, which is not allowed here."]
    assert website.requests == []


async def test_a_server_that_hangs_takes_its_time_and_no_more(
    website: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "FETCH_SECONDS", 0.2)
    website.page("/", "/hangs", "/drips", "/fine")
    website.get("/hangs", hang())
    website.get("/drips", drip())
    website.page("/fine")
    results = await crawled([f"{website.url}/*"])
    assert read(results, website.url) == ["/", "/fine"]
    reason = "The server did not answer within 0.2 seconds."
    assert unread(results, website.url) == {"/hangs": reason, "/drips": reason}


async def test_a_server_that_has_died_is_left_alone(website: Website, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "FETCH_SECONDS", 0.05)
    website.page("/", *[f"/{number}" for number in range(12)])
    for number in range(12):
        website.get(f"/{number}", hang())
    reasons = list(unread(await crawled([f"{website.url}/*"])).values())
    assert reasons[:5] == ["The server did not answer within 0.05 seconds."] * 5
    assert reasons[5:] == ["The server was left alone after it had failed 5 times in a row."] * 7
    assert len(website.paths) == 6


async def test_time_is_bounded_and_the_crawl_can_be_left_at_any_moment(website: Website) -> None:
    async def slow(exchange: Exchange) -> None:
        await asyncio.sleep(0.2)
        await page(text=f"All about {exchange.request.path}.")(exchange)

    website.page("/", *[f"/{number}" for number in range(30)])
    for number in range(30):
        website.get(f"/{number}", slow)
    began = time.monotonic()
    results = await crawled([f"{website.url}/*"], within=limits(seconds=0.7))
    assert time.monotonic() - began < 3
    assert stopped(results) == "Reading a corpus may take 0.7 seconds; the rest was not read."
    assert 1 <= len(read(results)) < 6


async def test_html_that_is_nested_without_end_is_read_or_says_why_not(website: Website) -> None:
    website.page("/", "/nested", "/after")
    website.get("/nested", answer(body=b"<html><body>" + b"<div>" * 30_000 + b"deep", content_type="text/html"))
    website.page("/after")
    results = await crawled([f"{website.url}/*"])
    assert "/after" in read(results, website.url)
    assert len(results) == 3


async def test_links_that_cannot_be_called_are_passed_over(website: Website) -> None:
    website.page("/", "/" + "x" * 5000, "http://[", "//", "http://:80/", "/\x01", "?", "/%zz")
    website.page("/%zz")
    results = await crawled([f"{website.url}/*"])
    assert [result.source.removeprefix(website.url) for result in results] == ["/", "/%zz"]
