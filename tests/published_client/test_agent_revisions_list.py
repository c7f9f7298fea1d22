"""`fixie agent revisions list`: the deployments of an agent."""

import json
from datetime import datetime
from pathlib import Path

from tests.agents import ScriptedAgent
from tests.published_client.somebody import Somebody


def test_it_shows_when_and_where_each_was_deployed_and_which_is_current(
    ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle)
    first = ann.client.create_agent_revision(handle, True, external_url=shouter.url)
    second = ann.client.create_agent_revision(handle, False, external_url=f"{shouter.url}/?second")
    shown = ann.fixie("agent", "revisions", "list", folder=agent_folder)
    assert shown.code == 0
    assert f"{ann.name}/{handle} revisions" in shown.out
    rows = {cells[0]: cells for cells in _cells(shown.out)}
    assert rows[first][2:] == [shouter.url, "✅"]
    assert rows[second][2:] == [f"{shouter.url}/?second", ""]
    assert datetime.fromisoformat(rows[first][1]).tzinfo is not None


def test_as_json_it_has_all_of_them(ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent) -> None:
    ann.new_agent(handle)
    number = ann.client.create_agent_revision(handle, True, external_url=shouter.url, metadata={"by": "hand"})
    shown = ann.fixie("agent", "revisions", "list", "--json", folder=agent_folder)
    (revision,) = json.loads(shown.out)
    assert revision.pop("created")
    assert revision == {
        "id": number,
        "isCurrent": True,
        "indexedCorpora": revision["indexedCorpora"],
        "deployment": {"__typename": "ExternalDeployment", "url": shouter.url},
        "metadata": [{"key": "by", "value": "hand"}],
    }
    assert not revision["indexedCorpora"]


def test_an_agent_without_deployments_has_an_empty_list(ann: Somebody, handle: str, agent_folder: Path) -> None:
    ann.new_agent(handle)
    shown = ann.fixie("agent", "revisions", "list", "--json", str(agent_folder))
    assert (shown.code, json.loads(shown.out)) == (0, [])


def test_what_is_not_deployed_has_none(ann: Somebody, handle: str, agent_folder: Path) -> None:
    shown = ann.fixie("agent", "revisions", "list", folder=agent_folder)
    assert shown.code == 1
    assert f"Error: Agent {ann.name}/{handle} not deployed." in shown.out


def _cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in table.splitlines() if "│" in line]
