"""Extracting text: what a document says, in whatever form and charset, and what becomes of bad ones."""

import contextlib
import resource
import zlib

import pytest

from registry.corpora.extraction import Unreadable, extract, is_readable
from tests.registry.corpora.documents import pdf, pdf_of, protected_pdf

ARTICLE = """<!doctype html><html><head><title> All about
 dice </title><meta name="robots" content="noarchive, NOFOLLOW"></head><body>
<nav><a href="/">Home</a> <a href="/login">Log in</a></nav>
<article><h1>Dice</h1><p>A die is a small throwable object with marked sides. It is used for generating random numbers,
commonly as part of tabletop games, including dice games, board games and role-playing games.</p>
<h2>Bias</h2><p>A loaded die is one that has been tampered with so that it will land with a specific side facing
upwards more often or less often than a fair die would. See <a href="fair#x">fair dice</a>.</p>
<script>alert("never said")</script></article>
<footer>Copyright, imprint and cookies</footer></body></html>"""


async def text_of(content: bytes | str, content_type: str, encoding: str = "") -> str:
    data = content.encode() if isinstance(content, str) else content
    return (await extract(data, content_type, encoding=encoding)).text


async def why_not(content: bytes, content_type: str, encoding: str = "") -> str:
    with pytest.raises(Unreadable) as error:
        await extract(content, content_type, encoding=encoding)
    return error.value.reason


async def test_a_page_is_its_main_text_with_title_links_and_rules() -> None:
    extracted = await extract(ARTICLE.encode(), "text/html", url="https://example.com/docs/dice")
    assert extracted.title == "All about dice"
    assert "# Dice" in extracted.text
    assert "## Bias" in extracted.text
    assert "random numbers" in extracted.text
    assert "never said" not in extracted.text
    assert "cookies" not in extracted.text
    assert extracted.links == (
        "https://example.com/",
        "https://example.com/login",
        "https://example.com/docs/fair",
    )
    assert extracted.rules == {"noarchive", "nofollow"}


async def test_a_page_without_an_article_is_all_its_text() -> None:
    page = "<body><footer><style>p {}</style>One<div>Two<br>Three  <b>bold</b></div><script>No</script></footer></body>"
    assert await text_of(page, "text/html") == "One\nTwo\nThree bold"
    assert await text_of("<table><tr><td>a</td><td>b</td></tr></table>", "text/html") == "| a | b |"


async def test_text_stays_as_it_is() -> None:
    text = "# Title\n\n    indented  twice\n\tand tabs\n\nlast"
    assert await text_of(text, "text/plain") == text
    assert await text_of(text.replace("\n", "\r\n"), "text/markdown") == text


@pytest.mark.parametrize(
    ("content", "content_type", "encoding"),
    [
        ("Müller".encode(), "text/plain", ""),
        ("Müller".encode("latin-1"), "text/plain; charset=ISO-8859-1", ""),
        ("Müller".encode("latin-1"), "text/plain", "latin1"),
        ("Müller".encode("utf-16"), "text/plain", ""),
        ("Müller".encode("utf-16-le"), 'text/plain; charset="utf-16-le"', ""),
        ("\ufeffMüller".encode(), "text/plain", ""),
        ("Müller".encode(), "text/plain; charset=iso-8859-1", ""),
        ("Müller".encode(), "text/plain; charset=nonsense", "zlib"),
        ("<meta charset=windows-1252><p>Müller".encode("cp1252"), "text/html", ""),
        (b'<?xml version="1.0" encoding="ISO-8859-1"?><a>M\xfcller</a>', "text/xml", ""),
    ],
)
async def test_charsets_are_found_wherever_they_are_said(content: bytes, content_type: str, encoding: str) -> None:
    assert await text_of(content, content_type, encoding) == "Müller"


async def test_charsets_that_nobody_says_are_guessed() -> None:
    assert "дерево" in await text_of(("Старое дерево стоит около дома. " * 20).encode("cp1251"), "text/plain")
    assert "日本語" in await text_of(
        ("日本語の文章です。" * 20).encode("iso2022_jp"), "text/plain; charset=iso-2022-jp"
    )


async def test_pdfs_are_read_page_by_page() -> None:
    extracted = await extract(pdf("First page.", "Second page.", title="A book"), "application/pdf")
    assert extracted.text == "First page.\n\nSecond page."
    assert extracted.title == "A book"


@pytest.mark.parametrize("content_type", ["application/octet-stream", "", "text/plain", "text/html; charset=utf-8"])
async def test_a_pdf_is_known_by_its_beginning(content_type: str) -> None:
    assert await text_of(pdf("Known."), content_type) == "Known."


async def test_what_has_no_type_is_looked_into() -> None:
    extracted = await extract(ARTICLE.encode(), "application/octet-stream")
    assert extracted.title == "All about dice"
    assert await text_of("Just words", "") == "Just words"


async def test_xml_is_its_text() -> None:
    feed = "<rss><channel><title>News &amp; more</title><item><![CDATA[<b>Bold</b>]]></item></channel></rss>"
    assert await text_of(feed, "application/rss+xml; charset=utf-8") == "News & more\n<b>Bold</b>"


@pytest.mark.parametrize(
    ("content", "content_type", "reason"),
    [
        (b"GIF89a", "image/gif", "Documents of type image/gif cannot be read."),
        (b"<svg/>", "image/svg+xml", "Documents of type image/svg+xml cannot be read."),
        (b"PK\x03\x04", "application/zip", "Documents of type application/zip cannot be read."),
        (bytes(range(256)) * 50, "text/html", "It is not text but binary data."),
        (bytes(range(256)) * 50, "", "It is not text but binary data."),
        (b"", "text/plain", "There is no text in it."),
        (b" \n ", "text/html", "There is no text in it."),
        (b"<html><body></body></html>", "text/html", "There is no text in it."),
        (b"<a></a>", "text/xml", "There is no text in it."),
        (b"", "application/pdf", "It is damaged, or not what it says it is (EmptyFileError)."),
        (b"%PDF-1.4 and nothing more", "application/pdf", "It is damaged, or not what it says it is (PdfStreamError)."),
        (pdf(""), "application/pdf", "There is no text in this PDF; its pages may be pictures."),
        (protected_pdf("secret"), "application/pdf", "The PDF is protected by a password."),
    ],
)
async def test_what_cannot_be_read_says_why(content: bytes, content_type: str, reason: str) -> None:
    assert await why_not(content, content_type) == reason


async def test_a_pdf_that_only_its_owner_may_change_is_read() -> None:
    assert await text_of(protected_pdf(""), "application/pdf") == "Nobody may know."


def test_types_are_readable_or_not() -> None:
    assert all(map(is_readable, ["text/html", "TEXT/Plain; charset=x", "application/pdf", "", "application/atom+xml"]))
    assert not any(map(is_readable, ["image/png", "video/mp4", "application/zip", "font/woff2", "image/svg+xml"]))


async def test_a_pdf_that_is_a_bomb_is_not_unpacked() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unpacked = 120_000_000
    packed = zlib.compressobj(9)
    stream = b"".join([*(packed.compress(bytes(1_000_000)) for _ in range(unpacked // 1_000_000)), packed.flush()])
    assert await why_not(pdf_of([stream]), "application/pdf") == "The PDF unpacks to more than one document may."
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


async def test_a_pdf_with_a_damaged_page_is_still_a_book() -> None:
    contents = [
        zlib.compress(b"BT /F1 12 Tf (Fine.) Tj ET"),
        b"no zlib at all",
        zlib.compress(b"(Also ) Tj (fine.) Tj"),
    ]
    assert "Fine." in await text_of(pdf_of(contents), "application/pdf")


async def test_an_xml_bomb_does_not_go_off() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    bomb = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "boom">{entities}]><x>&e11;</x>'.encode()
    assert await why_not(bomb, "application/xml") == "There is no text in it."
    outside = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>a&e;</x>'
    assert await text_of(outside, "application/xml") == "a"


@pytest.mark.parametrize(
    "content", [b"<div>" * 200_000 + b"deep", b"<div>" * 200_000 + b"deep" + b"</div>" * 200_000, b"<b><i>" * 100_000]
)
async def test_html_of_deep_nesting_does_not_keep_the_next_document_from_being_read(content: bytes) -> None:
    with contextlib.suppress(Unreadable):
        await extract(content, "text/html")
    assert await text_of("next", "text/html") == "next"


async def test_links_and_texts_are_bounded() -> None:
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(5000)).encode()
    assert len((await extract(links, "text/html", url="https://example.com/")).links) == 2000
    assert len(await text_of(b"word " * 900_000, "text/plain")) <= 2_000_000
