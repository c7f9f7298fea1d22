"""`fixie agent unpublish`, and its shorter form `fixie unpublish`: only its owner sees the agent."""

from pathlib import Path

import pytest

from tests.published_client.somebody import Somebody


@pytest.mark.parametrize("command", [("agent", "unpublish"), ("unpublish",)])
def test_others_see_it_no_longer(
    ann: Somebody, bob: Somebody, handle: str, agent_folder: Path, command: tuple[str, ...]
) -> None:
    agent = ann.new_agent(handle, published=True)
    shown = ann.fixie(*command, folder=agent_folder)
    assert shown.code == 0
    assert f"Agent {agent} has been made private." in shown.out
    assert bob.http.get(f"/api/agents/{agent}").status_code == 404
    assert ann.http.get(f"/api/agents/{agent}").json()["published"] is False


def test_what_is_not_deployed_cannot_be_unpublished(ann: Somebody, handle: str, agent_folder: Path) -> None:
    shown = ann.fixie("unpublish", str(agent_folder))
    assert shown.code == 1
    assert f"Error: Agent {ann.name}/{handle} not deployed." in shown.out
