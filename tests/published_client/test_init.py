"""`fixie init`: an `agent.yaml` for a folder. It does not ask the site."""

from pathlib import Path

import yaml

from tests.published_client.somebody import Somebody

ANSWERS = ("--description", "Rolls dice.", "--entry-point", "main:agent", "--more-info-url", "https://example.com")


def test_it_writes_what_the_other_commands_read(ann: Somebody, tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("agent = None\n")
    shown = ann.fixie("init", "--handle", "dice", *ANSWERS, str(tmp_path))
    assert (shown.code, shown.out) == (0, "Initialized agent.yaml.\n")
    written = yaml.safe_load((tmp_path / "agent.yaml").read_text())
    assert (written["handle"], written["description"]) == ("dice", "Rolls dice.")
    assert (tmp_path / "requirements.txt").read_text() == "fixieai ~= 1.0.4\n"
    assert (tmp_path / "main.py").read_text() == "agent = None\n"


def test_it_asks_for_what_is_missing_until_it_fits(ann: Somebody, tmp_path: Path) -> None:
    (tmp_path / "main.py").touch()
    shown = ann.fixie("init", "--handle", "two words", *ANSWERS, str(tmp_path), typed="dice\n")
    assert shown.code == 0
    assert "Handle can be alpha numerics, underscores and dashes only." in shown.out
    assert yaml.safe_load((tmp_path / "agent.yaml").read_text())["handle"] == "dice"
