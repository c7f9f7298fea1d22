"""Writes the agents that are programs, and the rules, as the file that the import reads."""

from collections.abc import Iterator
from typing import Any

from registry.agents_toml.entries import PROGRAM
from registry.agents_toml.rules import site_rules
from registry.agents_toml.writing import table
from registry.models import Agent, Revision, RoutingRule
from registry.transports.stdio_jsonrpc.options import CommandLine

_HEAD = "# The programs of {owner}, and the site's rules. `manage.py import_agents` reads this file.\n"
_NO_ENV = "# Not written here (--with-env), and kept by an import: the values of {names}\n"


def export_agents(*, owner: str, with_env: bool = False) -> str:
    """A file with all agents of `owner` that are programs, and all rules; the same text for the same site.

    The values of their environments, which may be secrets, are in it only `with_env`.
    """
    agents = Agent.objects.filter(owner__handle=owner, current_revision__deployment=Revision.Deployment.COMMAND)
    parts = [_HEAD.format(owner=owner)]
    parts += [_agent(agent, with_env) for agent in agents.select_related("current_revision").order_by("handle")]
    parts += [table("[[routing.rules]]", dict(_rule(rule, owner))) for rule in site_rules().values()]
    return "\n".join(parts)


def _agent(agent: Agent, with_env: bool) -> str:
    assert agent.current_revision is not None
    command = CommandLine.from_options(agent.current_revision.options)
    values = {"id": agent.handle, "name": agent.name, "type": "cli", **dict(_program(command))}
    if with_env and command.env:
        values["env"] = command.env
    written = table("[[agents]]", {**values, **dict(_fields(agent))})
    if with_env or not command.env:
        return written
    return written + _NO_ENV.format(names=", ".join(sorted(command.env)))


def _program(command: CommandLine) -> Iterator[tuple[str, Any]]:
    """What is run, but for what would be so anyway."""
    yield "command", command.command
    usual = CommandLine(command.command)
    for name in ("cwd", *PROGRAM):
        if getattr(command, name) != getattr(usual, name):
            yield name, getattr(command, name)


def _fields(agent: Agent) -> Iterator[tuple[str, Any]]:
    limits = {"requests_per_minute": agent.minute_query_limit, "requests_per_day": agent.daily_query_limit}
    if given := {name: limit for name, limit in limits.items() if limit is not None}:
        yield "rate_limit", given
    for name in ("capabilities", "priority", "description", "queries"):
        if value := getattr(agent, name):
            yield name, value
    for name in ("enabled", "published"):
        if not getattr(agent, name):
            yield name, False


def _rule(rule: RoutingRule, owner: str) -> Iterator[tuple[str, Any]]:
    agents = (preference.agent for preference in rule.preferences.all())
    yield "task_type", rule.task_type
    yield "keywords", rule.keywords
    yield "preferred_agents", [agent.handle if agent.owner.handle == owner else agent.agent_id for agent in agents]
    if rule.priority:
        yield "priority", rule.priority
    if not rule.enabled:
        yield "enabled", False
