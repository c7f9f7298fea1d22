"""`fixie agent revisions set-current`: another deployment answers from now on."""

from pathlib import Path

from tests.agents import ScriptedAgent
from tests.published_client.somebody import NOWHERE, Somebody


def test_the_other_one_answers_from_now_on(
    ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle, NOWHERE)
    good = ann.client.create_agent_revision(handle, False, external_url=shouter.url)
    shown = ann.fixie("agent", "revisions", "set-current", "--id", good, folder=agent_folder)
    assert (shown.code, shown.out) == (0, f"Set current revision to {good}.\n")
    assert ann.client.get_current_agent_revision(f"{ann.name}/{handle}") == good
    assert ann.fixie("query", "-a", f"{ann.name}/{handle}", "Shout hello").out == "HELLO!\n"


def test_an_unknown_one_and_another_agents_are_refused(
    ann: Somebody, bob: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle, shouter.url)
    mine = ann.client.get_current_agent_revision(handle)
    bob.new_agent(handle, shouter.url)
    others = bob.client.get_current_agent_revision(handle)
    for number in ("999999999", "nonsense", others):
        shown = ann.fixie("agent", "revisions", "set-current", "--id", number, folder=agent_folder)
        assert shown.code == 1
        assert "The agent has no such revision." in shown.err
    assert ann.client.get_current_agent_revision(handle) == mine


def test_an_unknown_agent_is_named_as_such(ann: Somebody, agent_folder: Path) -> None:
    shown = ann.fixie("agent", "revisions", "set-current", "--id", "1", folder=agent_folder)
    assert shown.code == 1
    assert "There is no such agent" in shown.err
