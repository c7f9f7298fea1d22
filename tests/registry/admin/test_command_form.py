"""The administrators' form for a program: what is saved as it was shown stays as it was, and JSON is read, too."""

from typing import Any

import pytest

from registry.admin.commands import CommandForm
from registry.transports.stdio_jsonrpc.options import CommandLine

ODD: list[dict[str, Any]] = [
    {"args": ["one\ntwo", ""]},
    {"args": ["a", ""]},
    {"args": [""]},
    {"args": ["", "a"]},
    {"args": ["a\x0bb", "c\x1cd", "e\u2028f", "g\u0085h"]},
    {"args": ["a\rb", "c\r\nd"]},
    {"args": ['["a"]']},
    {"args": ["[a-z]*"]},
    {"args": ["  padded  ", "-v", "two words"]},
    {"env": {"KEY": "-----BEGIN\nabc\n-----END\n"}},
    {"env": {"A": "", "B": " x ", "C": "a=b", "D": "{}", "E": "x\x0by\u2028z"}},
    {"args": [], "env": {}},
]


def read(shown: CommandForm, **typed: str) -> CommandLine:
    """What a browser's form comes to in which this was typed, and the rest left as it was shown."""
    texts = {field.name: str(field.value()) for field in shown} | typed
    form = CommandForm({name: text.replace("\n", "\r\n") for name, text in texts.items()})
    assert form.is_valid(), form.errors
    return form.command_line


def shown(command: CommandLine) -> CommandForm:
    return CommandForm(initial=command.as_options())


@pytest.mark.parametrize("options", ODD)
def test_a_command_that_is_saved_unchanged_is_the_same(options: dict[str, Any]) -> None:
    command = CommandLine.from_options({"command": "/srv/agent", **options})
    assert read(shown(command)) == command


def test_lines_are_shown_where_they_say_the_same() -> None:
    form = shown(CommandLine("/srv/agent", ("-v", " two words"), env={"A": "b=c"}))
    assert (form["args"].value(), form["env"].value()) == ("-v\n two words", "A=b=c")
    form = shown(CommandLine("/srv/agent", ("a\nb",), env={"A": "b\nc"}))
    assert (form["args"].value(), form["env"].value()) == ('[\n  "a\\nb"\n]', '{\n  "A": "b\\nc"\n}')


def test_json_is_read_always() -> None:
    form = shown(CommandLine("/srv/agent", ("old",)))
    command = read(form, args=' ["-v",\n "a\\nb", ""]', env='{"KEY": "a\\nb"}')
    assert (command.args, command.env) == (("-v", "a\nb", ""), {"KEY": "a\nb"})


def test_a_line_break_after_the_last_argument_adds_none() -> None:
    assert read(shown(CommandLine("/srv/agent")), args="-v\n").args == ("-v",)


def test_what_was_typed_wrong_is_shown_again() -> None:
    form = CommandForm({"command": "/srv/agent", "args": "[a"})
    assert "args" in form.errors
    assert form["args"].value() == "[a"
