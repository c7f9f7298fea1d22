"""The routing rules of the site, as the file names them: by task type and keywords."""

from collections.abc import Sequence

from registry.agents_toml.changes import changes
from registry.agents_toml.entries import RuleEntry
from registry.models import Agent, RoutingPreference, RoutingRule
from registry.routing.rules import folded

# What makes two rules the same: the task type, and the keywords in any order, case and width of spaces.
RuleKey = tuple[str, frozenset[str]]


def key_of(rule: RoutingRule | RuleEntry) -> RuleKey:
    return rule.task_type, frozenset(map(folded, rule.keywords))


def title_of(rule: RoutingRule | RuleEntry) -> str:
    """How people read it: `custom-task: custom`."""
    return str(RoutingRule(task_type=rule.task_type, keywords=list(rule.keywords)))


def site_rules() -> dict[RuleKey, RoutingRule]:
    """The rules with their agents, in the order in which they were made. Two queries.

    Of several with the same key only the one that decides; the Router never comes to the others.
    """
    rules = RoutingRule.objects.order_by("pk").prefetch_related("preferences__agent__owner")
    deciding = sorted(rules, key=lambda rule: (not rule.enabled, -rule.priority, rule.pk))
    found: dict[RuleKey, RoutingRule] = {}
    for rule in deciding:
        found.setdefault(key_of(rule), rule)
    return dict(sorted(found.items(), key=lambda each: each[1].pk))


def create_rule(entry: RuleEntry, agents: Sequence[Agent]) -> RoutingRule:
    """A new rule that prefers `agents` in this order. Call it inside a transaction."""
    rule = RoutingRule.objects.create(
        task_type=entry.task_type, keywords=entry.keywords, priority=entry.priority, enabled=entry.enabled
    )
    _prefer(rule, agents)
    return rule


def update_rule(rule: RoutingRule, entry: RuleEntry, agents: Sequence[Agent]) -> list[str]:
    """Makes the rule what the file says, inside a transaction; returns what has changed, in words."""
    said = {"keywords": entry.keywords, "priority": entry.priority, "enabled": entry.enabled}
    before = {name: getattr(rule, name) for name in said}
    if before != said:
        for name, value in said.items():
            setattr(rule, name, value)
        rule.save(update_fields=said)
    told = changes(before, said)
    if [each.agent_id for each in rule.preferences.all()] != [agent.pk for agent in agents]:
        rule.preferences.all().delete()
        _prefer(rule, agents)
        told.append("preferred_agents")
    return told


def _prefer(rule: RoutingRule, agents: Sequence[Agent]) -> None:
    preferences = (RoutingPreference(rule=rule, agent=agent, position=at) for at, agent in enumerate(agents))
    RoutingPreference.objects.bulk_create(preferences)
