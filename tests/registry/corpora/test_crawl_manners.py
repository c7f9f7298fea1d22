"""Crawling politely: what a site forbids is left alone, and nobody is asked faster than they like."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from django.conf import settings

from tests.agents import Behaviour, Exchange, answer
from tests.registry.corpora.websites import Website, crawled, html, limits, page, read, unread

FORBIDDEN = "The robots.txt of {} forbids it."


def forbidden(website: Website) -> str:
    return FORBIDDEN.format(website.url.removeprefix("http://"))


async def test_we_say_who_we_are(website: Website) -> None:
    website.page("/")
    await crawled([f"{website.url}/"])
    assert {request.headers["user-agent"] for request in website.requests} == {f"Fixie (+{settings.SITE_URL})"}


async def test_what_robots_txt_forbids_is_skipped_and_says_so(website: Website) -> None:
    website.text("/robots.txt", "User-agent: *\nDisallow: /private/\nAllow: /private/but-this$\nDisallow: /*.pdf$")
    website.page("/", "/a", "/private/x", "/private/but-this", "/b.pdf")
    website.page("/a")
    website.page("/private/but-this")
    results = await crawled([f"{website.url}/*"])
    assert read(results, website.url) == ["/", "/a", "/private/but-this"]
    assert unread(results, website.url) == {"/private/x": forbidden(website), "/b.pdf": forbidden(website)}
    assert website.paths == ["/", "/a", "/private/but-this"]


async def test_a_site_that_forbids_robots_is_not_read_at_all(website: Website) -> None:
    website.text("/robots.txt", "User-agent: *\nDisallow: /")
    website.page("/")
    website.page("/a")
    results = await crawled([f"{website.url}/*", f"{website.url}/a"])
    assert unread(results, website.url) == {"/": forbidden(website), "/a": forbidden(website)}
    assert website.paths == []


async def test_rules_for_fixie_go_before_those_for_all_and_others_do_not_count(website: Website) -> None:
    rules = "User-agent: *\nDisallow: /\n\nUser-agent: otherbot\nDisallow: /a\n\nUser-agent: FIXIE\nDisallow: /b\n"
    website.text("/robots.txt", rules)
    website.page("/", "/a", "/b")
    website.page("/a")
    results = await crawled([f"{website.url}/*"])
    assert read(results, website.url) == ["/", "/a"]
    assert unread(results, website.url) == {"/b": forbidden(website)}


@pytest.mark.parametrize("status", [404, 403, 401])
async def test_without_a_robots_txt_all_may_be_read(website: Website, status: int) -> None:
    website.get("/robots.txt", answer(body=b"User-agent: *\nDisallow: /", status=status))
    website.page("/")
    assert read(await crawled([f"{website.url}/"]), website.url) == ["/"]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_where_robots_txt_cannot_be_told_nothing_is_read(website: Website, status: int) -> None:
    website.get("/robots.txt", answer(body=b"", status=status))
    website.page("/")
    results = await crawled([f"{website.url}/"])
    reason = f"Its robots.txt cannot be read (HTTP status {status}), so nothing there may be."
    assert unread(results, website.url) == {"/": reason}
    assert website.paths == []


async def test_a_robots_txt_made_to_cost_much_costs_little(website: Website) -> None:
    names = "".join(f"User-agent: x{number}\n" for number in range(15_000))
    rules = "".join(f"Disallow: /{number}*a*a*a*a*b\n" for number in range(8_000))
    website.text("/robots.txt", f"{names}{rules}User-agent: *\nDisallow: /forbidden\n")
    website.page("/", "/" + "a" * 1500, "/forbidden")
    began = time.process_time()
    results = await crawled([f"{website.url}/*"])
    assert unread(results, website.url)["/forbidden"] == forbidden(website)
    assert time.process_time() - began < 3


async def test_pages_may_ask_not_to_be_indexed_or_followed(website: Website) -> None:
    website.page("/", "/noindex", "/nofollow", "/none", "/header", "/other")
    website.page("/noindex", "/behind-noindex", head='<META NAME="Robots" CONTENT="NoIndex">')
    website.page("/nofollow", "/behind-nofollow", head='<meta name="fixie" content="nofollow, noarchive">')
    website.page("/none", "/behind-none", head='<meta name="robots" content="none">')
    website.page("/header", headers={"x-robots-tag": "noarchive, noindex"})
    website.page("/other", headers={"x-robots-tag": "otherbot: noindex"})
    website.page("/behind-noindex")
    results = await crawled([f"{website.url}/*"])
    assert read(results, website.url) == ["/", "/nofollow", "/other", "/behind-noindex"]
    assert unread(results, website.url) == dict.fromkeys(
        ["/noindex", "/none", "/header"], "The page asks not to be indexed."
    )


async def test_a_page_that_is_not_for_us_does_not_stand_for_another_with_its_text(website: Website) -> None:
    website.page("/", "/print", "/page")
    website.page("/print", text="The same.", head='<meta name="robots" content="noindex">')
    website.page("/page", text="The same.")
    assert read(await crawled([f"{website.url}/*"]), website.url) == ["/", "/page"]


async def test_links_marked_nofollow_are_not_followed(website: Website) -> None:
    body = html("/a").replace(b"</main>", b'</main><a rel="nofollow noopener" href="/b">b</a>')
    website.get("/", answer(body=body, content_type="text/html"))
    website.page("/a")
    assert read(await crawled([f"{website.url}/*"]), website.url) == ["/", "/a"]


class Counting:
    """Answers pages slowly, and counts how many at a time."""

    def __init__(self, website: Website) -> None:
        self.website, self.now, self.most = website, 0, 0

    def __call__(self, behaviour: Behaviour) -> Behaviour:
        async def behave(exchange: Exchange) -> None:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0.01)
            await behaviour(exchange)
            self.now -= 1

        return behave


async def test_a_host_is_asked_one_request_at_a_time_by_all_crawls_together(website: Website) -> None:
    counting = Counting(website)
    for path in ("/", "/a", "/b"):
        website.get(path, counting(page("/a", "/b", text=f"All about {path}.")))
    results = await asyncio.gather(*(crawled([f"{website.url}/*"]) for _ in range(3)))
    assert [len(read(each)) for each in results] == [3, 3, 3]
    assert counting.most == 1


async def test_between_requests_there_is_a_pause(website: Website) -> None:
    website.page("/", "/a")
    website.page("/a")
    began = time.monotonic()
    await crawled([f"{website.url}/", f"{website.url}/a"], within=limits(delay=0.1))
    assert time.monotonic() - began >= 0.2  # robots.txt is a request too


async def test_a_site_may_ask_for_longer_pauses(website: Website) -> None:
    website.text("/robots.txt", "User-agent: *\nCrawl-delay: 0.3")
    website.page("/")
    website.page("/a")
    began = time.monotonic()
    await crawled([f"{website.url}/", f"{website.url}/a"])
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("status", [429, 503])
async def test_a_busy_site_is_asked_again_when_it_says(website: Website, status: int) -> None:
    website.get("/", answer(body=b"", status=status, headers={"retry-after": "1"}), page(text="Here I am."))
    began = time.monotonic()
    assert read(await crawled([f"{website.url}/"]), website.url) == ["/"]
    assert time.monotonic() - began >= 1


async def test_a_site_that_stays_busy_is_not_asked_for_ever(website: Website) -> None:
    website.get("/", answer(body=b"", status=503, headers={"retry-after": "0"}))
    results = await crawled([f"{website.url}/"])
    assert unread(results, website.url) == {"/": "The server answered with HTTP status 503."}
    assert len(website.paths) == 3


async def test_a_site_that_wants_to_be_left_alone_for_long_is_left_alone(website: Website) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    website.get("/", answer(body=b"", status=429, headers={"retry-after": "3600"}))
    website.get("/a", answer(body=b"", status=429, headers={"retry-after": later}))
    results = unread(await crawled([f"{website.url}/", f"{website.url}/a"]), website.url)
    assert results["/"] == "The server is busy, and asks to come back in 3600 seconds."
    assert results["/a"].startswith("The server is busy, and asks to come back in 7")
    assert website.paths == ["/", "/a"]
