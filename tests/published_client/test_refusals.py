"""What every command says with a wrong key, and while the site is away."""

from pathlib import Path

from tests.published_client.package import Package
from tests.published_client.somebody import NOWHERE, Somebody

COMMANDS = [
    "user",
    "agent list",
    "agent show shouter",
    "agent delete shouter",
    "agent publish",
    "agent unpublish",
    "agent revisions list",
    "agent revisions set-current --id 1",
    "agent revisions delete --id 1",
    "deploy --no-validate",
    "serve --no-tunnel",
    "session list",
    "session new Hello",
    "session open some-session Hello",
    "session query Hello",
    "console Hello",
    "query Hello",
]


def test_a_wrong_key_is_refused_in_words_by_every_command(ann: Somebody, agent_folder: Path) -> None:
    assert_every_command_says("The key is malformed.", ann, agent_folder, FIXIE_API_KEY="nonsense")


def test_a_site_that_is_away_is_told_by_every_command(ann: Somebody, agent_folder: Path) -> None:
    with Package(NOWHERE.rstrip("/"), ann.home) as ann.package:
        assert_every_command_says("Connection refused", ann, agent_folder)


def assert_every_command_says(told: str, ann: Somebody, folder: Path, **environment: str) -> None:
    started = {words: ann.start(*words.split(), folder=folder, **environment) for words in COMMANDS}
    for words, command in started.items():
        shown = command.ended()
        assert (words, shown.code) == (words, 1)
        assert told in shown.err.splitlines()[-1], words
