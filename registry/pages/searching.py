"""Finding agents by words: those that begin a word of their handle, name, description, owner or sample questions."""

import re

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q

from accounts.models import Owner
from registry.models import AgentQuerySet, AgentWords
from registry.models.words import CONFIG

# More words find nothing that these do not.
WORDS_MAX = 8
_BETWEEN = re.compile(r"[\s/@]+")


def matching(agents: AgentQuerySet, text: str) -> AgentQuerySet:
    """Of `agents` those that have every word of `text`, or one that begins with it, anywhere."""
    words = [word for word in _BETWEEN.split(text) if re.search(r"\w", word)]
    for word in words[:WORDS_MAX]:
        agents = agents.filter(_has(word))
    return agents


def _has(word: str) -> Q:
    # Each looks into the index once, and not at who is to see what: that is the outer query's to say.
    query = SearchQuery(_prefix(word), config=CONFIG, search_type="raw")
    named = AgentWords.objects.filter(words=query)
    owned = Owner.objects.filter(handle__istartswith=word)
    return Q(pk__in=named.values("pk")) | Q(owner__in=owned.values("pk"))


def _prefix(word: str) -> str:
    """`word` as a tsquery that takes it for the beginning of a word, whatever it holds."""
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}':*"
