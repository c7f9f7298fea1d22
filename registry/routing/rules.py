"""Which keyword rule a query falls under; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A `RoutingRule` as the Router needs it: `name` is what people read, `agents` are ids, the preferred one first."""

    name: str
    task_type: str
    keywords: tuple[str, ...]
    agents: tuple[int, ...]


def matching(rules: Sequence[Rule], text: str, task_type: str = "") -> Rule | None:
    """The first of `rules` (they stand in the order of their priority) that decides about the query `text`.

    Its task type is `task_type`, and it has no keywords or one of them is in the text, whatever the case: as whole
    words, where the script has spaces between them.
    """
    folded = text.casefold()
    return next((rule for rule in rules if rule.task_type == task_type and _speaks_of(rule, folded)), None)


def _speaks_of(rule: Rule, folded: str) -> bool:
    return not rule.keywords or any(_holds(folded, keyword.casefold()) for keyword in rule.keywords)


def _holds(folded: str, keyword: str) -> bool:
    if keyword not in folded:
        return False
    before, after = (r"\b" if _ends_words(end) else "" for end in (keyword[:1], keyword[-1:]))
    return re.search(before + re.escape(keyword) + after, folded) is not None


def _ends_words(end: str) -> bool:
    """Whether words in this character's script stand apart. Those without capitals (Chinese, Thai) mostly do not."""
    return end.isdigit() or end.lower() != end.upper()
