"""What a session is called in lists: its name, its title, how its first query begins, or its handle."""

import re
import unicodedata

from django.db.models.functions import Left

from common.handles import split_address
from sessions_app.models import Session

TITLE_MAX = 60
# So much of the first query is looked at: its address and its courtesies are not shown.
FIRST_QUERY_LENGTH = 400

_MARKUP = (
    (re.compile(r"```[^\n`]*|~~~[^\n]*"), " "),
    (re.compile(r"!?\[([^\]\n]*)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d{1,3}[.)][ \t]+)", re.MULTILINE), ""),
    (re.compile(r"(\*{1,3}|~~|`)(?=\S)(.+?)(?<=\S)\1"), r"\2"),
)
_COURTESIES = re.compile(
    r"""(?:
        (?:hi|hello|hey|hallo|guten\ tag)(?:\ there|\ fixie)?\s*[,.!:-]+\s*
        | (?:hi|hello|hey|hallo)\s+(?=(?:can|could|would|will|please|kannst|könntest|können|könnten|bitte)\b)
        | (?:(?:can|could|would|will)\ you\s+)(?=\S)
        | (?:kannst\ du|könntest\ du|können\ sie|könnten\ sie)\s+(?=\S)
        | (?:i\ (?:would|'d)\ like\ you\ to|i'd\ like\ you\ to|i\ want\ you\ to|i\ need\ you\ to)\s+
        | (?:please|pls|bitte|kindly)\b[\s,:]*
        | (?:mir\ )?bitte\b[\s,:]*
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_THANKS = re.compile(r"[\s,.!-]*\b(?:please|pls|bitte|thanks|thank you|danke)\b[\s.!]*(\??)$", re.IGNORECASE)
_QUOTES = "\"'“”„«»`*#\u2018\u2019\u201a\u2039\u203a"
_PREFIX = re.compile(r"^\s*(?:A|Title|Titel)\s*:\s*", re.IGNORECASE)


def short_title(text: str) -> str:
    """How a query begins, as a title of at most 60 characters; empty where it says nothing.

    Without the agent that it is addressed to, Markdown, and what is only polite; cut between words.
    """
    plain = split_address(text.strip())[1]
    for pattern, kept in _MARKUP:
        plain = pattern.sub(kept, plain)
    plain = _one_line(plain)
    bare = _without_courtesies(plain)
    return _capital(_cut((bare or plain).rstrip(" .,;:")))


def _without_courtesies(text: str) -> str:
    while (match := _COURTESIES.match(text)) is not None:
        text = text[match.end() :]
    return _THANKS.sub(r"\1", text)


def _one_line(text: str) -> str:
    """Without line breaks, and without characters that show nothing."""
    visible = "".join(character if unicodedata.category(character) != "Cc" else " " for character in text)
    return " ".join(visible.split())


def _cut(text: str) -> str:
    if len(text) <= TITLE_MAX:
        return text
    start = text[: TITLE_MAX - 1]
    # Between words; a text without any, as in Chinese or an address, anywhere but before an accent.
    if " " in start and text[TITLE_MAX - 1] != " ":
        words = start.rsplit(" ", 1)[0]
        start = words if len(words) > TITLE_MAX // 2 else start
    while start and unicodedata.combining(text[len(start)]):
        start = start[:-1]
    return f"{start.rstrip(' .,;:')}…"


def _capital(text: str) -> str:
    first = text[:1].upper()
    return first + text[1:] if len(first) == 1 else text


def cleaned(written: str) -> str:
    """A title that a language model wrote: its first line, without quotes; empty where that is nothing to show."""
    lines = (_PREFIX.sub("", line).strip(f" \t{_QUOTES}") for line in written.splitlines())
    return _cut(_one_line(next(filter(None, lines), "")).rstrip(" .;:"))


def titled(*, name: str, title: str, first_query: str | None, handle: str) -> str:
    """What lists call a session; `first_query` is how the text of its message 1 begins, if there is one."""
    return name or title or short_title(first_query or "") or handle


def title_now(session: Session) -> str:
    """The same, where the first query has not been read."""
    first = None
    if not (session.name or session.title):
        # Without LIMIT (`first`): so many messages are number 1 that PostgreSQL would look for any, in the whole table.
        texts = session.messages.filter(seq=1).values_list(Left("text", FIRST_QUERY_LENGTH), flat=True)
        first = next(iter(texts), None)
    return titled(name=session.name, title=session.title, first_query=first, handle=session.handle)
