"""`fixie agent show`: all about one agent."""

import re

import pytest

from tests.agents import ScriptedAgent
from tests.published_client.somebody import Somebody


@pytest.fixture
def agent(ann: Somebody, handle: str, shouter: ScriptedAgent) -> str:
    fields = {"name": "Shouter", "description": "Says it loudly.", "more_info_url": "https://example.com/shouter"}
    return ann.new_agent(handle, shouter.url, **fields)


def test_it_shows_all_there_is(ann: Somebody, agent: str) -> None:
    shown = ann.fixie("agent", "show", agent)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"{agent}Owner: {ann.name}\n: Shouter\n")
    for line in (
        r"Description: Says it loudly\.",
        r"More info URL: https://example\.com/shouter",
        r"Published: False",
        r"Created: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*",
        r"Modified: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*",
        r"Queries: \['Shout hello', 'Say hello loudly'\]",
        r"Current revision: \w+",
    ):
        assert re.search(rf"^{line}$", shown.out, re.MULTILINE), line


def test_my_own_needs_only_its_handle(ann: Somebody, agent: str) -> None:
    shown = ann.fixie("agent", "show", agent.split("/")[1])
    assert shown.code == 0
    assert f"Owner: {ann.name}" in shown.out
    assert re.search(r"Current revision: \w+", shown.out)


def test_an_agent_without_a_deployment_has_no_current_revision(ann: Somebody, handle: str) -> None:
    shown = ann.fixie("agent", "show", ann.new_agent(handle))
    assert "Current revision: None" in shown.out


def test_what_there_is_not_and_what_is_not_mine_look_the_same(ann: Somebody, bob: Somebody, agent: str) -> None:
    assert ann.fixie("agent", "show", "nobody/nothing").out == "Agent nobody/nothing not found.\n"
    assert bob.fixie("agent", "show", agent).out == f"Agent {agent} not found.\n"
