"""What `manage.py import_agents` makes of a file without problems."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from tests.registry.agents_toml.conftest import Workshop

# The seed's, but for where the program is.
SEED = """\
[[agents]]
id = "my-agent"
name = "My Custom Agent"
type = "cli"
command = "./my-agent"
rate_limit = { requests_per_minute = 60, requests_per_day = 2000 }
capabilities = ["custom-task"]
priority = 1

[[routing.rules]]
task_type = "custom-task"
keywords = ["custom"]
preferred_agents = ["my-agent"]
"""
SMALL = '[[agents]]\nid = "my-agent"\ncommand = "./my-agent"\n'


def test_the_file_of_the_seed_becomes_an_agent_and_a_rule(workshop: Workshop) -> None:
    told = workshop.load(SEED)
    assert told.error == ""
    assert told.out == [
        f"+ agent {workshop.owner}/my-agent: ./my-agent",
        f"+ rule custom-task: custom → {workshop.owner}/my-agent",
    ]
    agent = workshop.agent()
    assert (agent.name, agent.published, agent.enabled, agent.priority) == ("My Custom Agent", True, True, 1)
    assert (agent.minute_query_limit, agent.daily_query_limit) == (60, 2000)
    assert agent.capabilities == ["custom-task"]
    revision = agent.current_revision
    assert (revision.deployment, revision.transport, revision.state) == ("command", "stdio_jsonrpc", "ready")
    assert (revision.target, revision.created_by.username) == (str(workshop.folder / "my-agent"), workshop.admin)
    (rule,) = workshop.rules()
    assert (rule.task_type, rule.keywords, rule.priority, rule.enabled) == ("custom-task", ["custom"], 0, True)
    assert [each.agent for each in rule.preferences.all()] == [agent]


def test_all_that_a_file_may_say_is_kept(workshop: Workshop) -> None:
    (workshop.folder / "work").mkdir()
    told = workshop.load(
        SMALL
        + """\
args = ["--fast", "two words"]
env = { TOKEN = "secret" }
cwd = "work"
description = "Does things."
queries = ["Do a thing"]
enabled = false
published = false
processes = 3
start_seconds = 5
call_seconds = 7.5
idle_seconds = 30
memory_mb = 128
open_files = 64
[routing]
rules = [{ preferred_agents = ["my-agent"], priority = 5, enabled = false }]
"""
    )
    assert told.error == ""
    agent = workshop.agent()
    assert (agent.description, agent.queries) == ("Does things.", ["Do a thing"])
    assert (agent.enabled, agent.published) == (False, False)
    options = agent.current_revision.options
    assert options == {
        "command": str(workshop.folder / "my-agent"),
        "args": ["--fast", "two words"],
        "cwd": str(workshop.folder / "work"),
        "env": {"TOKEN": "secret"},
        "processes": 3,
        "start_seconds": 5,
        "call_seconds": 7.5,
        "idle_seconds": 30,
        "memory_mb": 128,
        "open_files": 64,
    }
    (rule,) = workshop.rules()
    assert (rule.task_type, rule.keywords, rule.priority, rule.enabled) == ("", [], 5, False)


def test_a_second_import_of_the_same_file_writes_no_row(workshop: Workshop) -> None:
    workshop.load(SEED)
    before = workshop.rows()
    told = workshop.load(SEED)
    assert (told.out, told.error) == (["Nothing to change."], "")
    assert workshop.rows() == before


def test_a_changed_file_changes_only_what_is_changed(workshop: Workshop) -> None:
    other = SEED + SMALL.replace("my-agent", "other").replace("./other", "./my-agent")
    workshop.load(other)
    before = {row[:2]: row[2] for row in workshop.rows()}
    changed = (
        other.replace("priority = 1", "priority = 4")
        .replace("requests_per_day = 2000", "requests_per_day = 100")
        .replace('preferred_agents = ["my-agent"]', 'preferred_agents = ["other", "my-agent"]\npriority = 2')
    )
    told = workshop.load(changed)
    assert told.out == [
        f"~ agent {workshop.owner}/my-agent: priority 1 → 4, requests_per_day 2000 → 100",
        "~ rule custom-task: custom: priority 0 → 2, preferred_agents",
    ]
    after = {row[:2]: row[2] for row in workshop.rows()}
    touched = {key for key, transaction in before.items() if after.get(key) not in (transaction, None)}
    (rule,) = workshop.rules()
    assert touched == {("agent", workshop.agent().pk), ("routingrule", rule.pk)}
    assert [each.agent.handle for each in rule.preferences.all()] == ["other", "my-agent"]


def test_a_changed_program_is_a_new_revision_and_its_secrets_are_not_told(workshop: Workshop) -> None:
    workshop.load(SMALL + 'env = { TOKEN = "secret" }')
    first = workshop.agent().current_revision
    told = workshop.load(SMALL + 'args = ["-v"]\nmemory_mb = 128\nenv = { TOKEN = "other" }')
    assert told.out == [f"~ agent {workshop.owner}/my-agent: args, env, memory_mb {first.options['memory_mb']} → 128"]
    second = workshop.agent().current_revision
    assert second.pk != first.pk
    assert second.options["env"] == {"TOKEN": "other"}


def test_what_the_file_no_longer_says_has_its_default_again(workshop: Workshop) -> None:
    workshop.load(SEED.replace("priority = 1", 'priority = 1\nargs = ["-v"]\nenabled = false'))
    workshop.load(SMALL)
    agent = workshop.agent()
    assert (agent.minute_query_limit, agent.daily_query_limit, agent.capabilities) == (None, None, [])
    assert (agent.priority, agent.enabled, agent.current_revision.options["args"]) == (0, True, [])


def test_texts_and_secrets_that_the_file_does_not_name_stay(workshop: Workshop, make_user: Any) -> None:
    from registry.actions import update_agent

    workshop.load(SMALL + 'name = "Mine"\nenv = { TOKEN = "secret" }')
    fields: Any = {"description": "By hand.", "queries": ["By hand?"], "published": False}
    update_agent(agent=workshop.agent(), by=make_user(), **fields)
    assert workshop.load(SMALL).out == ["Nothing to change."]
    agent = workshop.agent()
    assert (agent.name, agent.description, agent.queries) == ("Mine", "By hand.", ["By hand?"])
    assert (agent.published, agent.current_revision.options["env"]) == (False, {"TOKEN": "secret"})


def test_an_empty_environment_takes_the_old_one_away(workshop: Workshop) -> None:
    workshop.load(SMALL + 'env = { TOKEN = "secret" }')
    assert workshop.load(SMALL + "env = {}").out == [f"~ agent {workshop.owner}/my-agent: env"]
    assert workshop.agent().current_revision.options["env"] == {}


def test_what_the_file_does_not_name_stays_and_is_told(workshop: Workshop) -> None:
    workshop.load(SEED)
    told = workshop.load(SMALL.replace('"my-agent"', '"other"'))
    assert told.out == [
        f"+ agent {workshop.owner}/other: ./my-agent",
        f"= agent {workshop.owner}/my-agent: not in the file, stays as it is",
        "= rule custom-task: custom: not in the file, stays as it is",
    ]
    assert workshop.agent().enabled
    assert len(workshop.rules()) == 1


def test_a_rule_is_the_same_whatever_the_order_and_case_of_its_keywords(workshop: Workshop) -> None:
    workshop.load(SEED.replace('["custom"]', '["custom", "Special"]'))
    told = workshop.load(SEED.replace('["custom"]', '["special", "custom"]'))
    assert told.out == ["~ rule custom-task: special, custom: keywords"]
    (rule,) = workshop.rules()
    assert rule.keywords == ["special", "custom"]


def test_names_in_rules_are_of_the_file_then_of_the_owner_then_of_the_site(
    workshop: Workshop, agent: Any, echo: str
) -> None:
    rule = f'[[routing.rules]]\nkeywords = ["x"]\npreferred_agents = ["my-agent", "{agent.agent_id}", "echo"]\n'
    told = workshop.load(SMALL + rule)
    assert told.out[1] == f"+ rule any query: x → {workshop.owner}/my-agent, {agent.agent_id}, {echo}"
    assert workshop.load(SMALL + rule.replace(agent.agent_id, agent.handle)).out == ["Nothing to change."]


def test_a_dry_run_says_the_same_and_changes_nothing(workshop: Workshop) -> None:
    before = workshop.rows()
    told = workshop.load(SEED, "--dry-run")
    assert told.out[-1] == "Nothing was changed (--dry-run)."
    assert workshop.rows() == before
    assert told.out[:-1] == workshop.load(SEED).out
    changed = SEED.replace("priority = 1", "priority = 2").replace("2000", "1")
    before = workshop.rows()
    dry = workshop.load(changed, "--dry-run")
    assert workshop.rows() == before
    assert dry.out[:-1] == workshop.load(changed).out


def test_what_was_asked_today_counts_for_a_new_limit_a_day(workshop: Workshop, make_user: Any) -> None:
    from accounts.models import AgentUsage, UsageDay

    workshop.load(SMALL)
    agent, today = workshop.agent(), datetime.datetime.now(datetime.UTC).date()
    UsageDay.objects.create(user=make_user(), agent=agent.pk, day=today, queries=20)
    workshop.load(SMALL + "rate_limit.requests_per_day = 100")
    used = AgentUsage.objects.filter(agent=agent.pk, day=today).values_list("queries", flat=True)
    assert (len(used), sum(used)) == (AgentUsage.SLOTS, 20)


def test_paths_count_from_the_folder_of_the_file(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    workshop.load(SMALL.replace("./my-agent", "../" + workshop.folder.name + "/my-agent") + 'cwd = "."')
    options = workshop.agent().current_revision.options
    assert (options["command"], options["cwd"]) == (str(workshop.folder / "my-agent"), str(workshop.folder))


def test_a_program_without_a_path_is_found_on_path(workshop: Workshop) -> None:
    workshop.load(SMALL.replace("./my-agent", "sh") + 'args = ["-c", "cat"]')
    assert workshop.agent().current_revision.target == "sh"
    Path(workshop.folder / "sh-of-mine").touch(mode=0o755)
    environment = f'env = {{ PATH = "{workshop.folder}" }}'
    of_mine = SMALL.replace("./my-agent", "sh-of-mine")
    assert workshop.load(of_mine + environment).error == ""
    assert workshop.load(of_mine).out == ["Nothing to change."]


def test_an_agent_that_is_switched_off_may_name_a_program_that_is_not_there_yet(workshop: Workshop) -> None:
    absent = SMALL.replace("./my-agent", "./not-yet")
    assert workshop.load(absent + "enabled = false").error == ""
    assert workshop.load(absent).problems == [f"3: there is no program {workshop.folder}/not-yet on this machine"]
    assert not workshop.agent().enabled


def test_only_who_may_set_commands_imports(workshop: Workshop, people: Any) -> None:
    before = workshop.rows()
    told = workshop.load(SEED, by=people.owner.username)
    assert told.error == "Only administrators may say which program an agent runs."
    assert workshop.load(SEED, by="nobody-of-this-name").error == "There is no active user named nobody-of-this-name."
    assert workshop.load(SEED, owner="nobody-at-all").error == "There is no user or organization nobody-at-all."
    assert workshop.rows() == before


def test_a_users_own_agents_can_be_imported_too(workshop: Workshop, make_user: Any) -> None:
    from registry.actions import delete_agent
    from registry.models import Agent

    ann = make_user()
    assert workshop.load(SEED, owner=ann.username).out[0] == f"+ agent {ann.username}/my-agent: ./my-agent"
    delete_agent(agent=Agent.objects.get(owner=ann.owner))


def test_a_file_that_is_not_there_is_told_in_one_line(workshop: Workshop) -> None:
    told = workshop.run("import_agents", str(workshop.file), by=workshop.admin)
    assert told.error == f"{workshop.file}: No such file or directory"


def test_imports_at_the_same_time_take_turns(workshop: Workshop) -> None:
    workshop.file.write_text(SEED)

    def load() -> list[str]:
        try:
            return workshop.run("import_agents", str(workshop.file), by=workshop.admin).out
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        told = [done.result() for done in [pool.submit(load) for _ in range(4)]]
    assert sorted(len(out) for out in told) == [1, 1, 1, 2]
    assert [out for out in told if len(out) == 1] == [["Nothing to change."]] * 3
    assert len(workshop.rules()) == 1
