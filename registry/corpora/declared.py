"""A manifest's `corpora`: the published SDK's `UrlDocumentCorpus` and `CustomCorpus`, checked and stored."""

import re
from collections.abc import Callable
from typing import Any

from common.errors import InvalidRequest
from registry.corpora.documents import MAX_SOURCE
from registry.corpora.patterns import scope_of
from registry.transports.base import FuncCorpus, UrlCorpus

MAX_CORPORA = 20
MAX_URLS = 1000
MAX_PATTERNS = 100
MAX_FUNC_NAME = 100
# What the SDK accepts (`ACCEPTED_FUNC_NAMES`).
FUNC_NAME = re.compile(r"\w+")

# Is told a field and what is wrong with it.
Complain = Callable[[str, str], None]


def read_corpora(value: Any, complain: Complain) -> tuple[UrlCorpus | FuncCorpus, ...]:
    """The corpora in `value`, a manifest's field of that name; what is wrong with it goes to `complain`."""
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_CORPORA:
        complain("corpora", f"must be a list of at most {MAX_CORPORA} corpora")
        return ()
    entries = (_entry(entry, f"corpora[{number}]", complain) for number, entry in enumerate(value))
    return tuple(entry for entry in entries if entry is not None)


def stored_corpora(value: list[dict[str, Any]]) -> tuple[UrlCorpus | FuncCorpus, ...]:
    """The corpora of a stored manifest."""
    return tuple(
        FuncCorpus(entry["func"])
        if "func" in entry
        else UrlCorpus(tuple(entry["urls"]), tuple(entry["exclude_patterns"]), entry["auth_token_func"])
        for entry in value
    )


def _entry(entry: Any, field: str, complain: Complain) -> UrlCorpus | FuncCorpus | None:
    # The SDK sends each kind's own fields, and no name of the kind.
    kinds = {"urls", "func_name"} & entry.keys() if isinstance(entry, dict) else ()
    if len(kinds) != 1:
        complain(field, "must have either `urls` (web pages) or `func_name` (a corpus Func of the agent)")
        return None
    if "func_name" in entry:
        return FuncCorpus(_func(entry["func_name"], f"{field}.func_name", complain))
    token_func = entry.get("auth_token_func")
    return UrlCorpus(
        urls=_urls(entry["urls"], f"{field}.urls", complain),
        exclude_patterns=_texts(
            entry.get("exclude_patterns") or [], MAX_PATTERNS, f"{field}.exclude_patterns", complain
        ),
        auth_token_func=_func(token_func, f"{field}.auth_token_func", complain) if token_func is not None else "",
    )


def _urls(value: Any, field: str, complain: Complain) -> tuple[str, ...]:
    urls = _texts(value, MAX_URLS, field, complain)
    if value == []:
        complain(field, "must name a URL")
    for number, url in enumerate(urls, start=1):
        try:
            scope_of(url)
        except InvalidRequest as error:
            complain(field, f"must hold URLs, but number {number} is none: {error.message.rstrip('.')}")
    return urls


def _texts(value: Any, count: int, field: str, complain: Complain) -> tuple[str, ...]:
    is_short = isinstance(value, list) and len(value) <= count
    if is_short and all(isinstance(text, str) and 0 < len(text) <= MAX_SOURCE for text in value):
        return tuple(value)
    complain(field, f"must be a list of at most {count} texts of 1 to {MAX_SOURCE} characters")
    return ()


def _func(value: Any, field: str, complain: Complain) -> str:
    if isinstance(value, str) and len(value) <= MAX_FUNC_NAME and FUNC_NAME.fullmatch(value):
        return value
    complain(field, f"must be the name of a Func: at most {MAX_FUNC_NAME} letters, digits and _")
    return ""
