"""The Agent API protocol of AgentScope Runtime: its documents, its builders, and the transport that asks its agents."""
