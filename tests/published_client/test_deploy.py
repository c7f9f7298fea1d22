"""`fixie deploy`: the agent's present deployment becomes a revision."""

from pathlib import Path

import pytest

from tests.agents import ScriptedAgent
from tests.published_client.package import HOME
from tests.published_client.somebody import Somebody


@pytest.fixture
def code(agent_folder: Path) -> Path:
    """The folder with an agent in it that loads, and its requirements met without a download."""
    (agent_folder / "main.py").write_text("import fixieai\nagent = fixieai.CodeShotAgent('I shout.', [])\n")
    (agent_folder / "requirements.txt").write_text("fixieai ~= 1.0.4\n")
    (agent_folder / ".fixie.venv").symlink_to(HOME)
    return agent_folder


def test_a_new_agent_is_registered_and_answers(ann: Somebody, handle: str, code: Path) -> None:
    shown = ann.fixie("deploy", str(code), PIP_NO_INDEX="1")
    assert shown.code == 0, shown.out + shown.err
    agent = f"{ann.name}/{handle}"
    current = ann.client.get_current_agent_revision(agent)
    assert f"Revision {current} was deployed to {ann.site.url}/agents/{agent}" in shown.out
    # One of its sample queries, to try it with.
    assert f"fixie console --agent {agent} 'Shout hello'" in shown.out or "'Say hello loudly'" in shown.out
    stored = ann.http.get(f"/api/agents/{agent}").json()
    assert (stored["name"], stored["description"]) == ("Shouter", "Says it loudly.")
    assert stored["more_info_url"] == "https://example.com/shouter"
    assert stored["published"] is False
    assert ann.fixie("query", "-a", agent, "Shout hello").out == "HELLO!\n"


def test_again_it_changes_the_agent_and_adds_a_revision(
    ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle, f"{shouter.url}/?first", name="Before", description="Old.")
    before = ann.client.get_current_agent_revision(handle)
    words = ("deploy", "--no-validate", "--public", "--metadata", "commit", "123abc", str(agent_folder))
    assert ann.fixie(*words).code == 0
    stored = ann.http.get(f"/api/agents/{ann.name}/{handle}").json()
    assert (stored["name"], stored["published"]) == ("Shouter", True)
    after = ann.client.get_current_agent_revision(handle)
    assert after != before
    newest = ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"][0]
    assert newest["metadata"]["commit"] == "123abc"
    assert newest["metadata"]["fixie.ai/python-cli/command"] == "deploy"


def test_not_current_leaves_the_current_one(
    ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle, shouter.url)
    before = ann.client.get_current_agent_revision(handle)
    assert ann.fixie("deploy", "--no-validate", "--not-current", str(agent_folder)).code == 0
    assert ann.client.get_current_agent_revision(handle) == before


def test_code_to_be_hosted_here_is_refused_in_words_and_leaves_no_revision(
    ann: Somebody, handle: str, agent_folder: Path
) -> None:
    config = agent_folder / "agent.yaml"
    config.write_text(config.read_text().partition("deployment_url")[0])
    shown = ann.fixie("deploy", "--no-validate", folder=agent_folder)
    assert shown.code == 1
    assert "not_supported" in shown.err
    assert "deployment_url" in shown.err  # what to do instead
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"] == []


def test_an_address_that_may_not_be_called_is_refused_in_words(
    ann: Somebody, handle: str, agent_folder: Path, shouter: ScriptedAgent
) -> None:
    config = agent_folder / "agent.yaml"
    config.write_text(config.read_text().replace(shouter.url, "http://169.254.169.254/"))
    shown = ann.fixie("deploy", "--no-validate", folder=agent_folder)
    assert shown.code == 1
    assert "169.254.169.254" in shown.err
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"] == []


def test_a_handle_of_no_allowed_form_is_refused_in_words(ann: Somebody, handle: str, agent_folder: Path) -> None:
    config = agent_folder / "agent.yaml"
    config.write_text(config.read_text().replace(handle, "'two words'"))
    shown = ann.fixie("deploy", "--no-validate", folder=agent_folder)
    assert shown.code == 1
    assert "handle" in shown.err.splitlines()[-1]
