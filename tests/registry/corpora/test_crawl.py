"""Crawling: what belongs to a corpus is read, once and in order."""

from registry.corpora.documents import Read
from tests.agents import answer, redirect
from tests.registry.corpora.websites import Website, crawled, limits, page, read, stopped, unread


async def test_a_url_without_a_star_is_one_document(website: Website) -> None:
    website.page("/guide", "/other", title="The guide", text="Turn the knob to the left.")
    website.page("/other")
    (result,) = await crawled([f"{website.url}/guide"])
    assert isinstance(result, Read)
    assert result.source == f"{website.url}/guide"
    assert result.title == "The guide"
    assert "Turn the knob to the left." in result.text
    assert result.content_type == "text/html"
    assert result.size > 100


async def test_a_star_reads_all_below_that_links_lead_to_and_nothing_else(website: Website) -> None:
    website.page("/docs/", "a", "/docs/b?utm_source=x", "/blog/", "https://example.com/docs/x", "mailto:me@x.com")
    website.page("/docs/a", "../docs/b", "deep/c#part", "javascript:void(0)", "http://[bad")
    website.page("/docs/b", "/docs/", "/docs/b#again")
    website.page("/docs/deep/c", "/docs/d.txt")
    website.text("/docs/d.txt", "Plain words.")
    results = await crawled([f"{website.url}/docs/*"])
    assert read(results, website.url) == ["/docs/", "/docs/a", "/docs/b", "/docs/deep/c", "/docs/d.txt"]
    assert len(results) == 5
    assert website.paths == read(results, website.url)


async def test_links_follow_the_base_of_their_page(website: Website) -> None:
    website.page("/docs/", "a", head='<base href="/docs/v2/">')
    website.page("/docs/v2/a")
    assert read(await crawled([f"{website.url}/docs/*"]), website.url) == ["/docs/", "/docs/v2/a"]


async def test_what_is_excluded_is_not_asked_for(website: Website) -> None:
    website.page("/", "/private/a", "/a")
    website.page("/a")
    results = await crawled([f"{website.url}/*", f"{website.url}/private/b"], ["*/private/*"])
    assert read(results, website.url) == ["/", "/a"]
    assert unread(results, website.url) == {"/private/b": "The corpus excludes it."}
    assert website.paths == ["/", "/a"]


async def test_pages_that_only_a_site_map_names_are_read(website: Website) -> None:
    website.text(
        "/robots.txt", f"Sitemap: {website.url}/maps/index.xml\nSitemap: https://elsewhere.example/sitemap.xml"
    )
    website.text(
        "/maps/index.xml", f"<sitemapindex><sitemap><loc>{website.url}/maps/1.xml</loc></sitemap></sitemapindex>"
    )
    locations = "".join(f"<url><loc> {website.url}{path} </loc></url>" for path in ("/docs/a?x=1&amp;y=2", "/blog/b"))
    website.text("/maps/1.xml", f"<urlset>{locations}</urlset>")
    website.page("/docs/")
    website.page("/docs/a")
    assert read(await crawled([f"{website.url}/docs/*"]), website.url) == ["/docs/", "/docs/a?x=1&y=2"]


async def test_a_listed_page_below_a_star_is_read_once(website: Website) -> None:
    website.page("/docs/", "/docs/a")
    website.page("/docs/a")
    results = await crawled([f"{website.url}/docs/", f"{website.url}/docs/*", f"{website.url}/docs/a"])
    assert read(results, website.url) == ["/docs/", "/docs/a"]


async def test_a_redirect_within_the_corpus_is_followed(website: Website) -> None:
    website.get("/docs/", redirect("/docs/start"))
    website.page("/docs/start", "/docs/old", "/docs/a")
    website.get("/docs/old", redirect("/docs/a"))
    website.page("/docs/a")
    results = await crawled([f"{website.url}/docs/*"])
    assert read(results, website.url) == ["/docs/start", "/docs/a"]
    assert unread(results, website.url) == {
        "/docs/old": f"It redirects to {website.url}/docs/a, which is read by itself."
    }


async def test_a_redirect_out_of_the_corpus_is_not_followed(website: Website) -> None:
    with Website() as other:
        website.page("/docs/", "/docs/away", "/docs/up")
        website.get("/docs/away", redirect(f"{other.url}/docs/a"))
        website.get("/docs/up", redirect("/login"))
        results = await crawled([f"{website.url}/docs/*"])
        assert read(results, website.url) == ["/docs/"]
        assert unread(results, website.url) == {
            "/docs/away": f"It redirects to {other.url}/docs/a, which is not part of the corpus.",
            "/docs/up": f"It redirects to {website.url}/login, which is not part of the corpus.",
        }
        assert other.requests == []


async def test_pages_with_the_same_text_are_one_document(website: Website) -> None:
    website.page("/", "/a?session=1", "/a?session=2")
    website.get("/a", page(text="The same."))
    results = await crawled([f"{website.url}/*"])
    assert read(results, website.url) == ["/", "/a?session=1"]
    assert unread(results, website.url) == {"/a?session=2": f"It has the same text as {website.url}/a?session=1."}


async def test_a_crawl_goes_on_where_it_was_broken_off(website: Website) -> None:
    website.page("/docs/", "/docs/a", "/docs/b", "/docs/broken")
    website.page("/docs/a", "/docs/c")
    website.page("/docs/b")
    website.page("/docs/c")
    website.page("/single")
    urls = [f"{website.url}/docs/*", f"{website.url}/single"]
    first = await crawled(urls)
    done = [result.source for result in first][:4]
    again = await crawled(urls, done=done)
    assert [result.source for result in again] == [result.source for result in first][4:]
    everything = [result.source for result in first]
    before = len(website.paths)
    assert await crawled(urls, done=everything) == []
    assert f"{website.url}/single" in everything
    assert "/single" not in website.paths[before:]


async def test_the_token_goes_to_the_corpus_alone(website: Website) -> None:
    with Website() as other:
        website.page("/docs/", "/docs/a")
        website.page("/docs/a")
        website.get("/robots.txt", redirect(f"{other.url}/robots.txt"))
        await crawled([f"{website.url}/docs/*"], token="secret")
        told = {request.path: request.headers.get("authorization") for request in website.requests}
        assert told["/docs/"] == told["/docs/a"] == "Bearer secret"
        assert [request.headers.get("authorization") for request in other.requests] == [None]


async def test_no_more_documents_are_read_than_allowed(website: Website) -> None:
    website.page("/", *[f"/{number}" for number in range(20)])
    for number in range(20):
        website.page(f"/{number}")
    results = await crawled([f"{website.url}/*"], within=limits(documents=5))
    assert len(read(results)) == 5
    assert stopped(results) == "A corpus may have 5 documents; the rest was not read."
    assert len(website.paths) == 5


async def test_links_are_followed_so_far_and_no_further(website: Website) -> None:
    for number in range(6):
        website.page(f"/{number}", f"/{number + 1}")
    website.page("/", "/1")
    assert read(await crawled([f"{website.url}/*"], within=limits(depth=2)), website.url) == ["/", "/1", "/2"]
    assert read(await crawled([f"{website.url}/*"], within=limits(depth=0)), website.url) == ["/"]


async def test_all_kinds_of_text_are_read(website: Website) -> None:
    website.page("/", "/a.md", "/b.json", "/c.csv", "/d.xml", "/e")
    website.text("/a.md", "# Heading", "text/markdown")
    website.text("/b.json", '{"answer": 42}', "application/json")
    website.text("/c.csv", "dice,sides\nd20,20", "text/csv")
    website.text("/d.xml", "<note><to>Tove</to></note>", "application/xml")
    website.get("/e", answer(body=b"What am I?", content_type=""))
    results = await crawled([f"{website.url}/*"])
    texts = [result.text for result in results if isinstance(result, Read)]
    assert texts[1:] == ["# Heading", '{"answer": 42}', "dice,sides\nd20,20", "Tove", "What am I?"]
