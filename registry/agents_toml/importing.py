"""Makes the site's agents and rules what the file says: all of it in one transaction, or nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.models import Owner, User
from accounts.quotas import spread
from common.errors import InvalidRequest
from common.handles import SITE_OWNER, split_agent_name
from registry.access import check_may_set_command
from registry.actions import update_agent
from registry.agents_toml.changes import changes
from registry.agents_toml.entries import AgentEntry, RuleEntry
from registry.agents_toml.problems import FileRefused
from registry.agents_toml.programs import command_of, problems_of
from registry.agents_toml.reading import AGENTS, RULES, AgentsFile
from registry.agents_toml.rules import RuleKey, create_rule, key_of, site_rules, title_of, update_rule
from registry.bootstrap import ensure_organization
from registry.commands import deploy_command
from registry.fields import ManagedFields
from registry.models import Agent, Revision
from registry.transports.stdio_jsonrpc.options import CommandLine

COMMAND = Revision.Deployment.COMMAND


@dataclass(frozen=True, slots=True)
class Imported:
    """A line for each change, and for each agent and rule that the file does not name and that stays as it is."""

    changes: list[str]
    untouched: list[str]


def import_agents(*, file: AgentsFile, owner: str, by: User, dry_run: bool = False) -> Imported:
    """Makes what the file names the agents of `owner` and the site's rules; a second time that changes nothing.

    What it does not name stays. With `dry_run` all is undone. Raises FileRefused with every problem, InvalidRequest
    where there is no such owner or `by` may not set commands; then nothing has changed.
    """
    check_may_set_command(by)
    with transaction.atomic():
        site = _Site(file, _locked_owner(owner, by))
        site.check()
        imported = Imported([*_import_agents(site, by), *_import_rules(site)], site.untouched())
        if imported.changes:
            audit.record(by=by, object=Agent, message="\n".join(["Imported from a file:", *imported.changes]))
        if dry_run:
            transaction.set_rollback(True)
        return imported


def _locked_owner(handle: str, by: User) -> Owner:
    """The owner, who is locked so that imports take turns; the site's own is made where it is missing."""
    found = Owner.objects.select_for_update(no_key=True).filter(handle=handle).first()
    if found is not None:
        return found
    if handle != SITE_OWNER:
        raise InvalidRequest(f"There is no user or organization {handle}.", field="owner")
    return ensure_organization(handle=handle, name="Fixie", member=by).owner


class _Site:
    """What there is of what the file names."""

    def __init__(self, file: AgentsFile, owner: Owner) -> None:
        self.file = file
        self.owner = owner
        self.rules = site_rules()
        self.agents = {agent.agent_id: agent for agent in self._named_agents()}

    def _named_agents(self) -> Iterator[Agent]:
        names = {name for rule in self.file.rules.values() for name in rule.preferred_agents}
        handles = {agent.id for agent in self.file.agents.values()} | {split_agent_name(name)[1] for name in names}
        yield from Agent.objects.select_related("owner", "current_revision").filter(handle__in=handles)

    def own(self, entry: AgentEntry) -> Agent | None:
        return self.agents.get(f"{self.owner.handle}/{entry.id}")

    def command(self, entry: AgentEntry) -> CommandLine:
        """What is to be run, with the environment there is where the file names none."""
        return command_of(entry, self.file.folder, self._env(entry))

    def _env(self, entry: AgentEntry) -> dict[str, str]:
        agent = self.own(entry)
        revision = agent.current_revision if agent else None
        return dict(revision.options.get("env", {})) if revision else {}

    def named(self, name: str) -> str | None:
        """The id of the agent that a rule names, which is one of the file's, of the owner, or of the site itself."""
        owner, handle = split_agent_name(name)
        for each in (owner,) if owner else (self.owner.handle, SITE_OWNER):
            agent_id = f"{each}/{handle}"
            if agent_id in self.agents or (each == self.owner.handle and handle in self.file.ids):
                return agent_id
        return None

    def check(self) -> None:
        """Raises FileRefused with these problems and those that the reader found."""
        for place, agent in self.file.agents.items():
            self._check_deployment(place, agent)
            self._check_program(place, agent)
        seen: dict[RuleKey, int] = {}
        for place, rule in self.file.rules.items():
            self._check_preferred(place, rule)
            if (*RULES, place) not in self.file.broken and (first := seen.setdefault(key_of(rule), place)) != place:
                line = self.file.lines.at((*RULES, first))
                self.file.report((*RULES, place), f"the rule at line {line} has the same task type and keywords")
        if self.file.problems:
            raise FileRefused(self.file.problems)

    def _check_deployment(self, place: int, entry: AgentEntry) -> None:
        agent = self.own(entry)
        revision = agent.current_revision if agent else None
        if agent is not None and revision is not None and revision.deployment != COMMAND:
            text = f"{agent.agent_id} is there already and is no program ({revision.deployment}): choose another id"
            self.file.report((*AGENTS, place, "id"), text)

    def _check_program(self, place: int, entry: AgentEntry) -> None:
        if entry.command:
            for key, text in problems_of(entry, self.file.folder, self._env(entry)):
                self.file.report((*AGENTS, place, key), text)

    def _check_preferred(self, place: int, entry: RuleEntry) -> None:
        seen: set[str] = set()
        for at, name in enumerate(entry.preferred_agents):
            agent_id = self.named(name)
            if agent_id is None:
                text = f"there is no agent {name}, neither in this file nor on the site"
                self.file.report((*RULES, place, "preferred_agents", at), text)
            elif agent_id in seen:
                self.file.report((*RULES, place, "preferred_agents", at), f"{name} is named twice")
            seen.add(agent_id or "")

    def untouched(self) -> list[str]:
        """Agents of the owner that are programs, and rules, that the file does not name."""
        commands = Agent.objects.filter(owner=self.owner, current_revision__deployment=COMMAND)
        agents = commands.exclude(handle__in=self.file.ids).order_by("handle")
        keys = {key_of(rule) for rule in self.file.rules.values()}
        return [
            *(f"agent {self.owner.handle}/{agent.handle}" for agent in agents),
            *(f"rule {title_of(rule)}" for key, rule in self.rules.items() if key not in keys),
        ]


def _import_agents(site: _Site, by: User) -> Iterator[str]:
    for entry in site.file.agents.values():
        agent = site.own(entry)
        if agent is None:
            agent = _create_agent(site, entry, by)
            site.agents[agent.agent_id] = agent
            yield f"+ agent {agent.agent_id}: {entry.command}"
        elif changed := [*_update_agent(agent, entry, by), *_update_command(site, agent, entry, by)]:
            yield f"~ agent {agent.agent_id}: {', '.join(changed)}"


def _create_agent(site: _Site, entry: AgentEntry, by: User) -> Agent:
    fields: dict[str, Any] = {"published": True, **entry.fields()}
    agent = Agent.objects.create(owner=site.owner, handle=entry.id, **fields)
    deploy_command(agent=agent, by=by, command=site.command(entry))
    return agent


def _update_agent(agent: Agent, entry: AgentEntry, by: User) -> list[str]:
    said: dict[str, Any] = {**entry.fields()}
    before = {field: getattr(agent, field) for field in said}
    changed = {field: value for field, value in said.items() if before[field] != value}
    if "daily_query_limit" in changed:
        # Ahead of the agent's row: a query that is being accepted locks them in this order.
        spread(agent.pk)
    if changed:
        update_agent(agent=agent, by=by, **ManagedFields(**changed))  # type: ignore[typeddict-item]
    return changes(before, said)


def _update_command(site: _Site, agent: Agent, entry: AgentEntry, by: User) -> list[str]:
    revision = agent.current_revision
    before = revision.options if revision else {}
    command = site.command(entry)
    deploy_command(agent=agent, by=by, command=command)
    return changes(before, command.as_options())


def _import_rules(site: _Site) -> Iterator[str]:
    for entry in site.file.rules.values():
        preferred = [site.agents[site.named(name) or ""] for name in entry.preferred_agents]
        rule = site.rules.get(key_of(entry))
        if rule is None:
            create_rule(entry, preferred)
            names = ", ".join(agent.agent_id for agent in preferred) or "no agent"
            yield f"+ rule {title_of(entry)} → {names}"
        elif changed := update_rule(rule, entry, preferred):
            yield f"~ rule {title_of(entry)}: {', '.join(changed)}"
