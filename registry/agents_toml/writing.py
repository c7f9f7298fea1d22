"""Writes values as TOML: just what the file needs."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def table(header: str, values: Mapping[str, Any]) -> str:
    """A table with its header, a line a value."""
    return "\n".join([header, *(f"{_key(key)} = {value(each)}" for key, each in values.items())]) + "\n"


def value(given: Any) -> str:
    """A text, a number, a truth, a list or a table, on one line."""
    if isinstance(given, str):
        return text(given)
    if isinstance(given, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {value(each)}" for key, each in given.items()) + " }" if given else "{}"
    if isinstance(given, Iterable):
        return f"[{', '.join(map(value, given))}]"
    return json.dumps(given)


def text(given: str) -> str:
    """JSON's escapes are TOML's, but that TOML wants DEL escaped, too."""
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else text(key)
