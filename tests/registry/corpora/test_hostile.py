"""Corpora of strangers who mean ill: the site does not stand still over them, and what is good is read."""

import asyncio
import base64
import gzip
import json
import random
import time
from itertools import pairwise
from typing import Any

import pytest

from common.db import run_db
from registry.corpora import extraction
from registry.corpora.chunks import chunks
from registry.corpora.extraction import aclose_extraction, extract
from registry.corpora.funcs import documents_of
from registry.transports.base import FuncCorpus
from tests.agents import Behaviour, answer, redirect
from tests.registry.corpora.library import documents_of as stored_documents_of
from tests.registry.corpora.library import new_agent
from tests.registry.corpora.library import read as indexed
from tests.registry.corpora.websites import Website, crawled, limits, read, stopped, unread

FUNC = "Func[load]"


def sitemap(*locations: str) -> Behaviour:
    text = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
    return answer(body=f"<urlset>{text}</urlset>".encode(), content_type="text/xml")


@pytest.mark.parametrize("filler", ["<loc>" + " " * 1_000_000, "<loc><![CDATA[" + "\n" * 1_000_000, "<loc>" * 200_000])
async def test_a_site_map_of_nothing_takes_no_time(website: Website, filler: str) -> None:
    website.page("/docs/")
    website.page("/docs/a")
    text = f"{filler}<<loc>\n<![CDATA[ {website.url}/docs/a ]]></loc>"
    website.get("/sitemap.xml", answer(body=text.encode(), content_type="text/xml"))
    began = time.monotonic()
    results = await crawled([f"{website.url}/docs/*"])
    assert time.monotonic() - began < 5
    assert read(results, website.url) == ["/docs/", "/docs/a"]


async def test_site_maps_at_addresses_that_are_none_are_passed_over(website: Website) -> None:
    website.page("/docs/")
    website.text("/robots.txt", f"Sitemap: http://[bad\nSitemap: {website.url}/map.xml")
    website.get("/map.xml", sitemap("http://[worse", f"{website.url}/docs/a"))
    website.page("/docs/a")
    assert read(await crawled([f"{website.url}/docs/*"]), website.url) == ["/docs/", "/docs/a"]


async def test_urls_that_are_too_long_once_they_are_escaped_are_passed_over(website: Website) -> None:
    long = "\u5b57" * 300
    website.page("/docs/", f"/docs/{long}", "good", "moved")
    website.get("/sitemap.xml", sitemap(f"{website.url}/docs/{long}"))
    website.page("/docs/good")
    website.get("/docs/moved", redirect("/docs/" + "{" * 700))
    results = await crawled([f"{website.url}/docs/*"])
    assert read(results, website.url) == ["/docs/", "/docs/good"]
    assert "cannot be read" in unread(results, website.url)["/docs/moved"]


async def test_many_slow_patterns_do_not_stop_others(website: Website) -> None:
    website.page("/", *["a" * 1900 + str(number) for number in range(6)])
    times = [time.monotonic()]

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.01)
            times.append(time.monotonic())

    ticking = asyncio.ensure_future(tick())
    await crawled([f"{website.url}/*"], [f"*{'a' * (950 - number)}b" for number in range(100)], limits(documents=1))
    ticking.cancel()
    assert max(later - sooner for sooner, later in pairwise(times)) < 1


def test_headings_of_blanks_are_cut_in_no_time() -> None:
    began = time.monotonic()
    assert chunks(("# " + " " * 700 + "\nx\n") * 2000)
    assert time.monotonic() - began < 3
    assert all(passage.strip() for passage in chunks("a" + " " * 5000 + "b"))


def zipped(text: str) -> Behaviour:
    return answer(body=gzip.compress(text.encode()), headers={"content-encoding": "gzip"})


async def test_an_answer_of_countless_parts_is_not_parsed(website: Website) -> None:
    website.on("/corpus/load", zipped('{"page":{"documents":[' + "{}," * 100_000 + "{}]}}"))
    results = [result async for result in documents_of(website.url, "load", limits(), token="t")]
    assert unread(results) == {FUNC: "The agent's answer has too many parts."}


async def test_a_long_account_of_a_failure_is_cut(website: Website) -> None:
    said = json.dumps({"details": "x" * 100_000, "message": {"text": "Never read."}}).encode()
    website.on("/corpus/load", answer(body=said, status=500))
    results = [result async for result in documents_of(website.url, "load", limits(), token="t")]
    assert unread(results) == {FUNC: "The agent answered with HTTP status 500."}


async def test_answers_without_documents_count_too(website: Website) -> None:
    numbers = iter(range(1000))

    def said(_: Any) -> Any:
        return {"page": {"documents": [], "next_page_token": f"{next(numbers)}"}, "padding": "x" * 1000}

    website.on("/corpus/load", answer(said))
    results = [result async for result in documents_of(website.url, "load", limits(total_bytes=2500), token="t")]
    assert stopped(results) == "The agent's answers may have 5000 bytes together; the rest was not read."
    assert len(website.requests) == 5


async def test_documents_of_long_names_in_other_scripts_are_stored(website: Website, people: Any) -> None:
    name = "".join(random.Random(1).choices([chr(code) for code in range(0x4E00, 0x9F00)], k=1900))
    content = base64.b64encode(b"Long is the name.").decode()
    documents = [{"source_name": name, "content": content}, {"source_name": f"{name}2", "content": content}]
    website.on("/corpus/load", answer({"page": {"documents": documents}, "partitions": None}))
    agent = await new_agent(people, FuncCorpus("load"), url=website.url)
    (corpus,) = await indexed(agent)
    assert (corpus.status, corpus.documents_done) == ("ready", 2)
    assert set(await run_db(stored_documents_of, corpus)) == {name, f"{name}2"}


async def test_a_chat_does_not_wait_for_crawls() -> None:
    await extract(b"warm", "text/plain", purpose="chats")
    slow = b"<div>" * 400_000 + b"deep"
    crawls = [asyncio.ensure_future(extract(slow, "text/html")) for _ in range(extraction.PROCESSES["corpora"] * 3)]
    await asyncio.sleep(0)
    assert (await extract(b"Here I am.", "text/plain", purpose="chats")).text == "Here I am."
    assert not all(crawl.done() for crawl in crawls)
    for crawl in crawls:
        crawl.cancel()
    await asyncio.gather(*crawls, return_exceptions=True)
    await aclose_extraction()
    assert not extraction._extractions
