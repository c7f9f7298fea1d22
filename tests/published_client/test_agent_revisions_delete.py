"""`fixie agent revisions delete`."""

from pathlib import Path

from tests.agents import ScriptedAgent
from tests.published_client.somebody import Somebody


def test_one_that_does_not_answer_is_deleted(
    ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle, shouter.url)
    spare = ann.client.create_agent_revision(handle, False, external_url=shouter.url)
    shown = ann.fixie("agent", "revisions", "delete", "--id", spare, folder=agent_folder)
    assert (shown.code, shown.out) == (0, f"Deleted revision {spare}.\n")
    (left,) = ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"]
    assert str(left["id"]) != spare


def test_the_current_one_goes_only_by_force(
    ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle, shouter.url)
    current = ann.client.get_current_agent_revision(handle)
    kept = ann.fixie("agent", "revisions", "delete", "--id", current, folder=agent_folder)
    assert kept.code == 1
    assert f"Not deleting revision {current} because it is the current revision." in kept.out
    assert ann.client.get_current_agent_revision(handle) == current
    gone = ann.fixie("agent", "revisions", "delete", "--id", current, "--force", folder=agent_folder)
    assert gone.code == 0
    assert ann.client.get_current_agent_revision(handle) is None


def test_an_unknown_one_is_refused(ann: Somebody, handle: str, agent_folder: Path) -> None:
    ann.new_agent(handle)
    shown = ann.fixie("agent", "revisions", "delete", "--id", "999999999", folder=agent_folder)
    assert shown.code == 1
    assert "The agent has no such revision." in shown.err
