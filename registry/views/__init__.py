"""The registry's pages: the list of agents, one of them, registering one, and `/oauth`."""

from registry.views.agent import agent, change_details, change_queries, delete, make_current, switch
from registry.views.corrections import accept_correction, delete_correction, reindex
from registry.views.listing import agents
from registry.views.oauth import oauth_return
from registry.views.registering import change_address, new_agent, read_again

__all__ = [
    "accept_correction",
    "agent",
    "agents",
    "change_address",
    "change_details",
    "change_queries",
    "delete",
    "delete_correction",
    "make_current",
    "new_agent",
    "oauth_return",
    "read_again",
    "reindex",
    "switch",
]
