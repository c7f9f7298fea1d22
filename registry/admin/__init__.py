"""Agents, routing and usage for administrators; see the modules by subject. Manifests are read by tasks, not here."""

from registry.admin import agents, commands, revisions, routing, usage

# Django looks for admins in this module alone.
__all__ = ["agents", "commands", "revisions", "routing", "usage"]
