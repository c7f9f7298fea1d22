"""The registry's data: agents and revisions, what routes queries to them, and the corpora they answer from."""

from registry.models.agents import Agent, AgentQuerySet, Revision
from registry.models.corpora import Chunk, Corpus, CorpusDocument
from registry.models.liveness import Liveness
from registry.models.operations import AgentLog, ReportedLimits
from registry.models.routing import AgentIndex, RoutingPreference, RoutingRule, SampleIndex, SampleQuery
from registry.models.words import AgentWords

__all__ = [
    "Agent",
    "AgentIndex",
    "AgentLog",
    "AgentQuerySet",
    "AgentWords",
    "Chunk",
    "Corpus",
    "CorpusDocument",
    "Liveness",
    "ReportedLimits",
    "Revision",
    "RoutingPreference",
    "RoutingRule",
    "SampleIndex",
    "SampleQuery",
]
