"""What `manage.py export_agents` writes, and that it comes back as it was."""

import stat
import tomllib
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.agents_toml.writing import table, text, value
from tests.registry.agents_toml.conftest import Workshop
from tests.registry.agents_toml.test_importing import SEED, SMALL

# What TOML can say: everything but lone surrogates.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
values = st.recursive(
    texts | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
# What the database can keep.
kept = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
said = kept.filter(str.strip)


@settings(deadline=None)
@given(texts)
def test_any_text_is_read_as_it_was_written(given_text: str) -> None:
    assert tomllib.loads(f"x = {text(given_text)}") == {"x": given_text}
    assert "\n" not in text(given_text)


@settings(deadline=None)
@given(st.dictionaries(texts, values, max_size=5))
def test_any_table_is_read_as_it_was_written(given_table: dict[str, Any]) -> None:
    assert tomllib.loads(table("[[tables]]", given_table)) == {"tables": [given_table]}
    assert tomllib.loads(f"x = {value(given_table)}") == {"x": given_table}


def test_the_seeds_file_comes_back(workshop: Workshop) -> None:
    workshop.load(SEED)
    assert workshop.export() == (
        f"# The programs of {workshop.owner}, and the site's rules. `manage.py import_agents` reads this file.\n\n"
        + SEED.replace("./my-agent", str(workshop.folder / "my-agent"))
    )


def test_what_is_as_usual_is_not_written(workshop: Workshop) -> None:
    workshop.load(SMALL)
    (agent,) = tomllib.loads(workshop.export())["agents"]
    assert agent == {"id": "my-agent", "name": "", "type": "cli", "command": str(workshop.folder / "my-agent")}


def test_the_import_of_an_export_changes_nothing(workshop: Workshop, agent: Any, echo: str) -> None:
    (workshop.folder / "work").mkdir()
    everything = SEED + (
        SMALL.replace('"my-agent"', '"b"') + 'args = ["a\\u0001", "b\\n\\"c\\""]\nenv = { T = "s" }\ncwd = "work"\n'
        'enabled = false\npublished = false\ndescription = "Ünï\\u007f\\u2028"\nqueries = ["one?", "two?"]\n'
        "processes = 3\nstart_seconds = 0.5\nrate_limit.requests_per_day = 0\npriority = -3\n"
        f'[[routing.rules]]\npreferred_agents = ["b", "{agent.agent_id}", "{echo}"]\nenabled = false\npriority = 9\n'
    )  # fmt: skip
    assert workshop.load(everything).error == ""
    before = workshop.rows()
    for written in (workshop.export(), workshop.export("--with-env")):
        assert workshop.load(written).out == ["Nothing to change."]
        assert workshop.rows() == before
    assert workshop.export() == workshop.export()


def test_an_export_makes_the_same_agents_elsewhere(workshop: Workshop, make_user: Any) -> None:
    from registry.actions import delete_agent
    from registry.models import Agent, RoutingRule

    workshop.load(SEED + SMALL.replace('"my-agent"', '"other"') + 'env = { T = "s" }\npriority = 7\n')
    written = workshop.export("--with-env")
    for each in Agent.objects.filter(owner__handle=workshop.owner):
        delete_agent(agent=each)
    RoutingRule.objects.all().delete()
    assert workshop.load(written).error == ""
    assert workshop.export("--with-env") == written


def test_the_values_of_environments_are_written_only_when_asked_for(workshop: Workshop) -> None:
    workshop.load(SMALL + 'env = { TOKEN = "top secret", MODE = "x" }')
    written = workshop.export()
    assert "top secret" not in written
    assert "# Not written here (--with-env), and kept by an import: the values of MODE, TOKEN\n" in written
    (agent,) = tomllib.loads(workshop.export("--with-env"))["agents"]
    assert agent["env"] == {"TOKEN": "top secret", "MODE": "x"}


def test_only_agents_of_the_owner_that_are_programs_are_written(workshop: Workshop, people: Any) -> None:
    from registry.actions import create_agent
    from tests.registry.readings import reads

    workshop.load(SMALL)
    create_agent(by=people.owner, owner=workshop.owner, handle="at-a-url", reading=reads())
    assert [agent["id"] for agent in tomllib.loads(workshop.export())["agents"]] == ["my-agent"]
    assert (
        workshop.run("export_agents", owner="nobody-at-all").error == "There is no user or organization nobody-at-all."
    )


def test_of_rules_that_are_the_same_the_one_that_decides_is_written(workshop: Workshop) -> None:
    from registry.models import RoutingRule

    workshop.load(SMALL)
    rules: list[dict[str, Any]] = [
        {"priority": 9, "enabled": False},
        {"priority": 3},
        {"priority": 5, "keywords": ["B", "a"]},
    ]
    for rule in rules:
        RoutingRule.objects.create(**{"keywords": ["a", "b"], **rule})
    written = workshop.export()
    (rule,) = tomllib.loads(written)["routing"]["rules"]
    assert rule == {"task_type": "", "keywords": ["B", "a"], "preferred_agents": [], "priority": 5}
    assert workshop.load(written).out == ["Nothing to change."]


def test_a_new_file_is_for_its_owners_eyes_alone(workshop: Workshop) -> None:
    workshop.load(SEED)
    path = workshop.folder / "exported.toml"
    assert workshop.run("export_agents", str(path)).out == []
    assert path.read_text() == workshop.export()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    told = workshop.run("export_agents", str(workshop.folder / "nowhere" / "x"))
    assert told.error == f"{workshop.folder}/nowhere/x: No such file or directory"


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_agent_and_rule_comes_back(data: st.DataObject, workshop: Workshop) -> None:
    from registry.models import RoutingRule

    agent = {
        "id": "my-agent",
        "name": data.draw(kept),
        "command": "./my-agent",
        "args": data.draw(st.lists(kept, max_size=3)),
        "env": data.draw(st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), kept, max_size=3)),
        "capabilities": data.draw(st.lists(said, max_size=3)),
        "description": data.draw(kept),
        "queries": data.draw(st.lists(said, max_size=3)),
        "priority": data.draw(st.integers(-5, 5)),
    }
    rule = {"task_type": data.draw(kept), "keywords": data.draw(st.lists(said, max_size=3)), "preferred_agents": []}
    loaded = workshop.load(table("[[agents]]", agent) + table("[[routing.rules]]", rule))
    assert loaded.error == ""
    written = workshop.export("--with-env")
    assert workshop.load(written).out == ["Nothing to change."]
    read = tomllib.loads(written)
    assert {**agent, **read["agents"][0]} == {**agent, "type": "cli", "command": str(workshop.folder / "my-agent")}
    assert read["routing"]["rules"] == [rule]
    RoutingRule.objects.all().delete()
