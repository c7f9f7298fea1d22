"""Which keyword rules a query falls under; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Rule:
    """A `RoutingRule` as the Router needs it: `name` is what people read, `agents` are ids, the preferred one first.

    `keywords` are `folded`.
    """

    name: str
    task_type: str
    keywords: tuple[str, ...]
    agents: tuple[int, ...]


def folded(text: str) -> str:
    """What texts are compared by: their case does not count, nor how wide a space is."""
    return _SPACE.sub(" ", text.casefold())


def matching(rules: Sequence[Rule], text: str, task_type: str = "") -> list[Rule]:
    """Those of `rules` that are about the query `text`, in their order, which is that of their priority.

    Their task type is `task_type`, and they have no keywords or one of them is in the text, in whatever case; inside of
    a word, too.
    """
    query = folded(text)
    return [
        rule
        for rule in rules
        if rule.task_type == task_type and (not rule.keywords or any(keyword in query for keyword in rule.keywords))
    ]
