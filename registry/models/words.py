"""The words that agents are found by: the expressions of the indexes `words_of_agents` and `words_of_samples`."""

from django.contrib.postgres.search import SearchVector

# No language is known: words are what they are.
CONFIG = "simple"
AGENT_WORDS = SearchVector("handle", "name", "description", config=CONFIG)
SAMPLE_WORDS = SearchVector("text", config=CONFIG)
