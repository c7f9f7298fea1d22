"""The site's addresses: nothing that people name stands where a word of the site does."""

import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from django.urls import URLPattern, get_resolver

# Handles of owners and agents, which people choose. Those of sessions are three words that the site draws.
CHOSEN = re.compile(r"<(?:\w+:)?(?:owner|handle|name|username)>")


def addresses(patterns: Any, prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        whole = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield whole
        else:
            yield from addresses(pattern.url_patterns, whole)


def hides(one: str, other: str) -> bool:
    """Whether a word of `one` is what somebody may have chosen in `other`."""
    chosen = False
    parts = list(zip(one.split("/"), other.split("/"), strict=False))
    for word, part in parts:
        if word != part and "<" not in word:
            if not CHOSEN.fullmatch(part):
                return False
            chosen = True
    return chosen and one.count("/") == other.count("/")


def test_no_handle_makes_an_address_that_the_site_uses_for_something_else() -> None:
    ours = {each for each in addresses(get_resolver().url_patterns) if not each.startswith(("admin/", "accounts/"))}
    shown = sorted(each for each in ours if not re.match(r"(api/)?sessions/", each))
    found = {(one, other) for one, other in combinations(shown, 2) if hides(one, other) or hides(other, one)}
    assert found == set()
    assert hides("api/agents/complete", "api/agents/<name>")
