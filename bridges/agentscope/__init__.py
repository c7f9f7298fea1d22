"""The Agent API protocol, inwards: clients of AgentScope Runtime ask the site's agents at `/process`.

Format: the Agent API Protocol Specification; its documents are those of `registry.transports.agentscope`. How ours maps
to it stands in docs/agent-api.md.
"""
