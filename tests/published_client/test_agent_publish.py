"""`fixie agent publish`, and its shorter form `fixie publish`: others see the agent."""

from pathlib import Path

import pytest

from tests.published_client.somebody import Somebody


@pytest.mark.parametrize("command", [("agent", "publish"), ("publish",)])
def test_others_see_it_and_nothing_else_changes(
    ann: Somebody, bob: Somebody, handle: str, agent_folder: Path, command: tuple[str, ...]
) -> None:
    agent = ann.new_agent(handle, name="Mine", description="Does this.")
    shown = ann.fixie(*command, folder=agent_folder)
    assert shown.code == 0
    assert f"Agent {agent} has been made public." in shown.out
    seen = bob.http.get(f"/api/agents/{agent}").json()
    assert (seen["name"], seen["description"], seen["published"]) == ("Mine", "Does this.", True)


def test_what_is_not_deployed_cannot_be_published(ann: Somebody, handle: str, agent_folder: Path) -> None:
    shown = ann.fixie("publish", str(agent_folder))
    assert shown.code == 1
    assert f"Error: Agent {ann.name}/{handle} not deployed." in shown.out
    assert shown.err == "Aborted!\n"
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}").status_code == 404
