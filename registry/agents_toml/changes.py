"""What an import changes, in a few words."""

from collections.abc import Mapping
from typing import Any

from registry.agents_toml.writing import value

# Where the file's words differ from the registry's.
_WORDS = {"minute_query_limit": "requests_per_minute", "daily_query_limit": "requests_per_day"}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """`priority 1 → 4` or `args` for each value of `after` that was another before.

    Only numbers are shown: texts and lists may be long, or nobody's business.
    """
    return [_told(name, before.get(name), now) for name, now in after.items() if before.get(name) != now]


def _told(name: str, before: Any, after: Any) -> str:
    name = _WORDS.get(name, name)
    if isinstance(after, str | list | dict):
        return name
    return f"{name} {_shown(before)} → {_shown(after)}"


def _shown(given: Any) -> str:
    return "none" if given is None else value(given)
