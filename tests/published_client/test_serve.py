"""`fixie serve --no-tunnel`: an agent of one's own, served by the package, from the first line to an answer."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.published_client.package import Command
from tests.published_client.somebody import Somebody
from tests.sites import ROOT, free_port

EXAMPLE = ROOT / "examples" / "fixieai_dice"
SERVING = "Now serving temporary revision "


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def dice(tmp_path: Path, handle: str, port: int) -> Path:
    """A copy of the example agent, with a handle and an address of its own."""
    folder = tmp_path / "dice"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    config = folder / "agent.yaml"
    text = config.read_text().replace("fixieai-dice", handle).replace(":8181", f":{port}")
    config.write_text(text)
    return folder


@pytest.fixture
def serve(ann: Somebody, port: int) -> Callable[..., Command]:
    """`serve(FOLDER, WORDS…)` types `fixie serve`."""

    def start(folder: Path, *words: str) -> Command:
        options = ("--no-tunnel", "--host", "127.0.0.1", "--port", str(port), *words)
        return ann.start("serve", *options, str(folder))

    return start


def test_the_example_goes_from_serve_to_an_answer_in_the_console(
    ann: Somebody, handle: str, dice: Path, serve: Callable[..., Command]
) -> None:
    agent = f"{ann.name}/{handle}"
    command = serve(dice)
    shown = command.until(SERVING)
    assert f"{ann.site.url}/agents/{agent}" in shown
    assert f"fixie console --agent {agent}" in shown
    console = ann.terminal("console", "--agent", agent, "Roll 4d20")
    console.until("1❯ ")
    dice_rolled = console.until("\n").split()
    assert len(dice_rolled) == 4
    assert all(1 <= int(number) <= 20 for number in dice_rolled)
    console.enter("What did I roll last?")
    console.until(f"2❯ Your last roll was {' '.join(dice_rolled)}.\n")
    console.left()
    assert command.interrupted().code == 1
    assert ann.client.get_current_agent_revision(agent) is None


def test_what_was_deployed_before_serves_again_afterwards(
    ann: Somebody, handle: str, dice: Path, serve: Callable[..., Command], shouter
) -> None:
    ann.new_agent(handle, shouter.url)
    before = ann.client.get_current_agent_revision(handle)
    command = serve(dice)
    shown = command.until(SERVING)
    assert f"This temporarily replaces existing revision {before}." in shown
    assert ann.client.get_current_agent_revision(handle) != before
    assert f"Restored existing revision {before}." in command.interrupted().out
    assert ann.client.get_current_agent_revision(handle) == before
    assert len(ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"]) == 1
    assert ann.fixie("query", "-a", handle, "Shout hello").out == "HELLO!\n"


def test_a_changed_file_is_served_as_a_revision_of_its_own(
    ann: Somebody, handle: str, dice: Path, serve: Callable[..., Command]
) -> None:
    command = serve(dice)
    command.until(SERVING)
    first = ann.client.get_current_agent_revision(handle)
    main = dice / "main.py"
    main.write_text(main.read_text().replace("rolled yet.", "rolled yet!"))
    command.until("main.py was changed. Restarting server.")
    command.until(SERVING, times=2)
    assert ann.client.get_current_agent_revision(handle) != first
    assert ann.fixie("query", "-a", handle, "What did I roll last?").out == "You have not rolled yet!\n"
    command.interrupted()
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"] == []


def test_without_an_address_it_says_what_is_missing(
    ann: Somebody, handle: str, dice: Path, serve: Callable[..., Command]
) -> None:
    config = dice / "agent.yaml"
    config.write_text(config.read_text().partition("deployment_url")[0])
    shown = serve(dice).ended()
    assert shown.code == 1
    assert "You must specify a deployment_url in agent.yaml or use --tunnel." in shown.out
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}").status_code == 404


def test_an_agent_that_does_not_load_is_no_revision(
    ann: Somebody, handle: str, dice: Path, serve: Callable[..., Command]
) -> None:
    (dice / "main.py").write_text("agent = nothing\n")
    shown = serve(dice).ended()
    assert shown.code == 1
    assert "NameError: name 'nothing' is not defined" in shown.err
    assert "Server process failed to start." in shown.out
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"] == []
