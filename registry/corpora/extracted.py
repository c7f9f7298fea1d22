"""What passes between the site and the process that extracts: jobs, and texts or reasons. Imports nothing heavy."""

import codecs
from dataclasses import dataclass
from struct import Struct
from typing import Any, Literal

MAX_TEXT = 2_000_000
MAX_TITLE = 300
MAX_LINKS = 2000
MAX_URL = 2000

# A job: the sizes of its header (JSON) and of the document that follows. An answer: the size of its JSON.
JOB_HEAD = Struct("!II")
ANSWER_HEAD = Struct("!I")

Kind = Literal["html", "pdf", "xml", "text", "unknown"]

_HTML = ("text/html", "application/xhtml+xml")
_PDF = ("application/pdf", "application/x-pdf")
_XML = ("text/xml", "application/xml")
_TEXT = (
    "application/json",
    "application/ld+json",
    "application/jsonl",
    "application/x-ndjson",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
)
_UNKNOWN = ("", "application/octet-stream", "binary/octet-stream", "application/x-download")


class Unreadable(Exception):
    """There is no text to be had; `reason` is a sentence for the corpus's owner."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text of a document, never blank; of HTML also where it leads and what its robots `<meta>` says.

    `links` are absolute http(s) URLs in the order of the page. `rules` holds words such as `noindex`, `nofollow`.
    """

    text: str
    title: str = ""
    links: tuple[str, ...] = ()
    rules: frozenset[str] = frozenset()

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Extracted":
        return cls(fields["text"], fields["title"], tuple(fields["links"]), frozenset(fields["rules"]))

    def as_dict(self) -> dict[str, Any]:
        return {"text": self.text, "title": self.title, "links": self.links, "rules": sorted(self.rules)}


def media_type(content_type: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return content_type.partition(";")[0].strip().lower()


def charset_of(content_type: str) -> str:
    """The charset that a content type names, if Python knows it as one of text; else nothing."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return known_charset(value.strip().strip("\"'"))
    return ""


def known_charset(name: str) -> str:
    """Python's name of a charset, or nothing. What is called Latin-1 on the web is Windows-1252 (WHATWG Encoding)."""
    try:
        codec = codecs.lookup(name.strip().lower())
    except (LookupError, ValueError):
        return ""
    if not getattr(codec, "_is_text_encoding", True):
        return ""
    return "cp1252" if codec.name in ("iso8859-1", "ascii") else codec.name


def kind_of(content_type: str) -> Kind | None:
    """How documents of this type are read; `unknown` where only a look into them tells, None where nothing does."""
    kind = media_type(content_type)
    if kind in _HTML:
        return "html"
    if kind in _PDF:
        return "pdf"
    if kind in _XML or (kind.endswith("+xml") and not kind.startswith("image/")):
        return "xml"
    if kind in _TEXT or kind.startswith("text/") or kind.endswith("+json"):
        return "text"
    return "unknown" if kind in _UNKNOWN else None
