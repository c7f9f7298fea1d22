"""What may be run, and what people are told where it may not."""

from typing import Any

import pytest
from django.conf import settings

from common.errors import InvalidRequest
from registry.transports.stdio_jsonrpc.options import CommandLine


def test_what_is_not_said_has_its_default() -> None:
    command = CommandLine.from_options({"command": "agent"})
    assert command == CommandLine("agent")
    assert (command.args, command.cwd, command.env) == ((), "", {})
    assert (command.processes, command.memory_mb) == (settings.COMMAND_PROCESSES, settings.COMMAND_MEMORY_MB)


def test_it_is_read_as_it_was_stored() -> None:
    command = CommandLine("agent", ("-v", "a b"), "/srv", {"KEY": "value"}, 1, 2.0, 3.0, 4.0, 100, 50)
    assert CommandLine.from_options(command.as_options()) == command


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({}, "command"),
        ({"command": ""}, "command"),
        ({"command": "  "}, "command"),
        ({"command": 5}, "command"),
        ({"command": "a\x00b"}, "command"),
        ({"command": "\ud800"}, "command"),
        ({"command": "x" * 2001}, "command"),
        ({"command": "x", "args": "-v"}, "args"),
        ({"command": "x", "args": [1]}, "args"),
        ({"command": "x", "args": ["a\x00"]}, "args"),
        ({"command": "x", "args": ["a"] * 201}, "args"),
        ({"command": "x", "cwd": "here"}, "cwd"),
        ({"command": "x", "cwd": None}, "cwd"),
        ({"command": "x", "env": ["A=b"]}, "env"),
        ({"command": "x", "env": {"A": 1}}, "env"),
        ({"command": "x", "env": {"A=B": "c"}}, "env"),
        ({"command": "x", "env": {"": "c"}}, "env"),
        ({"command": "x", "env": {f"A{n}": "c" for n in range(201)}}, "env"),
        ({"command": "x", "processes": 0}, "processes"),
        ({"command": "x", "processes": 1.5}, "processes"),
        ({"command": "x", "processes": True}, "processes"),
        ({"command": "x", "processes": "2"}, "processes"),
        ({"command": "x", "start_seconds": -1}, "start_seconds"),
        ({"command": "x", "call_seconds": float("nan")}, "call_seconds"),
        ({"command": "x", "idle_seconds": float("inf")}, "idle_seconds"),
        ({"command": "x", "memory_mb": 10**12}, "memory_mb"),
        ({"command": "x", "open_files": 3}, "open_files"),
        ({"command": "x", "shell": True}, "shell"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        CommandLine.from_options(options)
    assert error.value.details["field"] == field
