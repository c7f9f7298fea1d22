"""Text out of HTML, PDF, XML and plain text. Runs in the process that extracts, and may use up all it is given."""

import re
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Any
from urllib.parse import urljoin, urlsplit

from registry.corpora.extracted import (
    MAX_LINKS,
    MAX_TEXT,
    MAX_TITLE,
    MAX_URL,
    Extracted,
    Kind,
    Unreadable,
    charset_of,
    kind_of,
    known_charset,
    media_type,
)

MAX_PAGES = 5000
# How much of a document may be asked for its charset.
LOOKED_AT = 4096

# Byte order marks, the longer ones first.
_BOMS = (
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_DECLARED = re.compile(
    rb"<(?:meta[^>]{0,500}?charset|\?xml[^>]{0,200}?encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.I
)
_LOOKS_LIKE_HTML = re.compile(rb"\s*(?:<!--.{0,1000}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n\s*\n\s*")
# The share of control characters from which on bytes are no text.
BINARY = 0.01

# fmt: off
_BLOCKS = frozenset([
    "address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "fieldset", "figcaption",
    "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol",
    "option", "p", "pre", "section", "table", "td", "th", "tr", "ul",
])
# fmt: on
_UNSEEN = frozenset(["head", "iframe", "noscript", "object", "script", "style", "svg", "template"])


def read(content: bytes, content_type: str, *, url: str, encoding: str) -> Extracted:
    """The text of a document (see `registry.corpora.extraction`). Raises Unreadable, or whatever a library does."""
    kind = _kind(content, content_type)
    if kind == "pdf":
        return _pdf(content)
    text = _decoded(content, encoding or charset_of(content_type))
    if kind == "html":
        return _html(text, url)
    return Extracted(_checked(_without_tags(text) if kind == "xml" else text))


def _kind(content: bytes, content_type: str) -> Kind:
    declared = kind_of(content_type)
    if declared is None:
        raise Unreadable(f"Documents of type {media_type(content_type)[:100]} cannot be read.")
    if content[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    if declared == "unknown":
        return "html" if _LOOKS_LIKE_HTML.match(content) else "text"
    return declared


def _checked(text: str) -> str:
    """`text` as it goes to the site: bounded, and fit for PostgreSQL and UTF-8. Raises Unreadable where it is blank."""
    text = text[:MAX_TEXT].replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    text = text.encode("utf-8", "replace").decode().strip()
    if not text:
        raise Unreadable("There is no text in it.")
    return text


def _title(text: str | None) -> str:
    return " ".join((text or "").encode("utf-8", "replace").decode().replace("\x00", "").split())[:MAX_TITLE]


def _decoded(content: bytes, said: str) -> str:
    """`content` as text, by its byte order mark, what was said of it, what it says itself, UTF-8, or a guess."""
    text = content.decode(_charset(content, known_charset(said) if said else ""), "replace")
    if len(_CONTROL.findall(text[:MAX_TEXT])) > BINARY * len(text[:MAX_TEXT]):
        raise Unreadable("It is not text but binary data.")
    return text


def _charset(content: bytes, said: str) -> str:
    for mark, charset in _BOMS:
        if content.startswith(mark):
            return charset
    found = _DECLARED.search(content[:LOOKED_AT])
    declared = known_charset(found[1].decode()) if found else ""
    if declared.startswith(("utf_16", "utf-16", "utf-32")):
        declared = ""  # in that charset we would not have found it
    # Windows-1252 fits anything, and is often said of what is UTF-8: it comes last.
    for charset in sorted(filter(None, [said, declared, "utf-8"]), key="cp1252".__eq__):
        if _decodes(content, charset):
            return charset
    return said or _guess(content)


def _decodes(content: bytes, charset: str) -> bool:
    try:
        content.decode(charset)
    except (UnicodeError, LookupError):
        return False
    return True


def _guess(content: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(content[: 16 * LOOKED_AT]).best()
    return best.encoding if best is not None else "cp1252"


def _html(text: str, url: str) -> Extracted:
    from lxml.html import HTMLParser, document_fromstring

    if not text.strip():
        raise Unreadable("There is no text in it.")

    def tree() -> Any:
        # The parser's own bounds on depth and size stay on.
        parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
        return document_fromstring(text.encode("utf-8", "replace"), parser=parser)

    page = tree()
    title = _title(page.findtext(".//title") or page.findtext(".//h1"))
    links, rules = tuple(_links(page, url)), _rules(page)
    try:
        main = _main_text(page)
    except (RecursionError, ValueError, TypeError):
        main = ""
    return Extracted(_checked(main or _plain(tree())), title, links, rules)


def _main_text(page: Any) -> str:
    """The text without menus and footers, with its headings as Markdown; takes `page` apart."""
    import trafilatura

    main = trafilatura.extract(page, output_format="markdown", include_comments=False, favor_recall=True)
    return str(main or "")


def _plain(page: Any) -> str:
    """All text that a browser would show of `page`, a line a block."""
    from lxml import etree

    pieces: list[str] = []
    unseen = 0
    for event, element in etree.iterwalk(page, events=("start", "end")):
        if element.tag in _UNSEEN:
            unseen += 1 if event == "start" else -1
        if element.tag in _BLOCKS and (event == "start" or element.tag != "br"):
            pieces.append("\n")
        if not unseen:
            pieces.append((element.text if event == "start" else element.tail) or "")
    return _BLANK_LINES.sub("\n\n", _SPACES.sub(" ", "".join(pieces)))


def _rules(page: Any) -> frozenset[str]:
    """The words of `<meta name="robots">` and `<meta name="fixie">`, in lower case."""
    words: set[str] = set()
    for meta in page.iter("meta"):
        if (meta.get("name") or "").strip().lower() in ("robots", "fixie"):
            words.update(word.strip().lower()[:20] for word in (meta.get("content") or "").split(",")[:20])
    return frozenset(words)


def _links(page: Any, url: str) -> Iterator[str]:
    base = page.find(".//base[@href]")
    where = url if base is None else _joined(url, base.get("href")) or url
    seen: set[str] = set()
    for element in page.iter("a", "area", "frame", "iframe"):
        link = _joined(where, element.get("href") or element.get("src"))
        if link and link not in seen and "nofollow" not in (element.get("rel") or "").lower().split():
            seen.add(link)
            yield link
            if len(seen) == MAX_LINKS:
                return


def _joined(base: str, link: str | None) -> str:
    """The absolute URL without its fragment; nothing where it is none that could be fetched."""
    try:
        joined = urljoin(base, "".join((link or "").split())).partition("#")[0]
        is_web = urlsplit(joined).scheme in ("http", "https")
    except ValueError:
        return ""
    return joined if link and is_web and len(joined) <= MAX_URL else ""


def _without_tags(text: str) -> str:
    """The text of an XML document; entities of its own, of which bombs are made, stay unread."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True, encoding="utf-8")
    root = etree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1).encode("utf-8", "replace"), parser=parser)
    if root is None:
        raise Unreadable("It is not XML, as it says it is.")
    return "\n".join(line for piece in root.itertext(etree.Element) if (line := piece.strip()))


def _pdf(content: bytes) -> Extracted:
    from pypdf import PdfReader
    from pypdf.errors import LimitReachedError

    reader = PdfReader(BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise Unreadable("The PDF is protected by a password.")
    try:
        text = _checked(_pages(reader))
    except LimitReachedError:
        raise Unreadable("The PDF unpacks to more than one document may.") from None
    except Unreadable:
        raise Unreadable("There is no text in this PDF; its pages may be pictures.") from None
    return Extracted(text, _title(reader.metadata.title if reader.metadata else ""))


def _pages(reader: Any) -> str:
    """The text of all pages that can be read. Raises what the last of the others did, where there is none."""
    pages: list[str] = []
    size, failure = 0, None
    for page in islice(reader.pages, MAX_PAGES):
        try:
            pages.append(page.extract_text())
        except MemoryError:
            raise
        except Exception as error:  # one damaged page of a book
            failure = error
            continue
        size += len(pages[-1])
        if size > MAX_TEXT:
            break
    if failure is not None and not size:
        raise failure
    return "\n\n".join(pages)
