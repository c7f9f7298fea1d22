"""Finding agents by words: those that begin a word of their handle, name, description, owner or sample questions."""

import re

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q

from accounts.models import Owner
from registry.models import Agent, AgentQuerySet, SampleQuery
from registry.models.words import AGENT_WORDS, CONFIG, SAMPLE_WORDS

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
    # Each looks into an index of its own, once, and none at who is to see what: that is the outer query's to say.
    # The samples, of which there are most, come last: where all agents have the word, they are not looked at.
    query = SearchQuery(_prefix(word), config=CONFIG, search_type="raw")
    named = Agent.objects.annotate(words=AGENT_WORDS).filter(words=query)
    asked = SampleQuery.objects.filter(user=None).annotate(words=SAMPLE_WORDS).filter(words=query)
    owned = Owner.objects.filter(handle__istartswith=word)
    return Q(pk__in=named.values("pk")) | Q(owner__in=owned.values("pk")) | Q(pk__in=asked.values("agent"))


def _prefix(word: str) -> str:
    """`word` as a tsquery that takes it for the beginning of a word, whatever it holds."""
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}':*"
