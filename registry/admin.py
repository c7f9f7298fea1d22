"""Agents, routing and usage for administrators; see the modules by subject. Manifests are read by tasks, not here."""

from registry import agent_admin, commands_admin, revision_admin, routing_admin, usage_admin

# Django looks for admins in this module alone.
__all__ = ["agent_admin", "commands_admin", "revision_admin", "routing_admin", "usage_admin"]
