"""The programs that the file names: as commands, and whether this machine can run them."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from common.errors import FixieError
from registry.agents_toml.entries import PROGRAM, AgentEntry
from registry.transports.stdio_jsonrpc.options import CommandLine
from registry.transports.stdio_jsonrpc.process import PATH


def command_of(entry: AgentEntry, folder: Path, env: Mapping[str, str]) -> CommandLine:
    """What is to be run, with the environment `env` where the file names none; its paths count from `folder`.

    Raises InvalidRequest naming the field.
    """
    said = {name: getattr(entry, name) for name in PROGRAM if getattr(entry, name) is not None}
    options = {
        **said,
        "command": _path(folder, entry.command) if "/" in entry.command else entry.command,
        "cwd": _path(folder, entry.cwd) if entry.cwd else "",
        "env": dict(env) if entry.env is None else entry.env,
    }
    return CommandLine.from_options(options)


def problems_of(entry: AgentEntry, folder: Path, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Why this machine cannot run it: keys of the file, and what is wrong with them.

    An agent that is switched off may name a program that is not there yet.
    """
    try:
        command = command_of(entry, folder, env)
    except FixieError as error:
        yield error.details["field"], error.message
        return
    if not entry.enabled:
        return
    if why := _why_not_run(command.command, command.env.get("PATH", PATH)):
        yield "command", why
    if command.cwd and not Path(command.cwd).is_dir():
        yield "cwd", f"there is no folder {command.cwd}"


def _why_not_run(command: str, search: str) -> str:
    if shutil.which(command, path=search):
        return ""
    if Path(command).is_absolute() and Path(command).is_file():
        return f"{command} cannot be executed; chmod +x {command} helps"
    where = "on this machine" if "/" in command else f"in {search}; write ./ ahead of one that is beside this file"
    hint = "; arguments go into args" if " " in command else ""
    return f"there is no program {command} {where}{hint}"


def _path(folder: Path, path: str) -> str:
    """As a full path; `..` is taken away as text, so that links stay what they are."""
    return os.path.normpath(folder / path)
