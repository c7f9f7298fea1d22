"""What is run for an agent, and within which limits."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import PurePath
from typing import Any, Self

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidRequest

COMMAND_MAX = 2000
ARGS_MAX, ARG_MAX = 200, 16 * 1024
ENV_MAX, ENV_VALUE_MAX = 200, 16 * 1024
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Numbers by field: the least and the greatest, and whether only whole ones.
NUMBERS: dict[str, tuple[float, float, bool]] = {
    "processes": (1, 64, True),
    "start_seconds": (0.1, 600, False),
    "call_seconds": (0.1, 86_400, False),
    "idle_seconds": (0.1, 86_400, False),
    "memory_mb": (16, 1024 * 1024, True),
    "open_files": (16, 1024 * 1024, True),
}


def _default(setting: str) -> Any:
    return field(default_factory=lambda: getattr(settings, setting))


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A program with its arguments, run without a shell, and its limits.

    `command` is a path, or a name that is looked for on `PATH`. `cwd` is the directory it runs in; empty: one of its
    own. `env` is all of its environment, but for a `PATH`, `LANG` and `HOME` where it names none. Up to `processes` of
    them answer at the same time (in each process of the site). It may take `start_seconds` to be running and
    `call_seconds` for an answer, and is ended after `idle_seconds` without a call. Each of its processes has
    `memory_mb` megabytes of memory and `open_files` files.
    Made of anything; raises InvalidRequest naming the field that is wrong.
    """

    command: str
    args: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    processes: int = _default("COMMAND_PROCESSES")
    start_seconds: float = _default("COMMAND_START_SECONDS")
    call_seconds: float = _default("COMMAND_CALL_SECONDS")
    idle_seconds: float = _default("COMMAND_IDLE_SECONDS")
    memory_mb: int = _default("COMMAND_MEMORY_MB")
    open_files: int = _default("COMMAND_OPEN_FILES")

    def __post_init__(self) -> None:
        _check_text(self.command, "command", COMMAND_MAX)
        if not self.command.strip():
            raise InvalidRequest("command is empty: say which program to run.", field="command")
        _check_args(self.args)
        _check_text(self.cwd, "cwd", COMMAND_MAX)
        if self.cwd and not PurePath(self.cwd).is_absolute():
            raise InvalidRequest(_("cwd must be a full path, such as /srv/agent."), field="cwd")
        _check_env(self.env)
        for name, limits in NUMBERS.items():
            _check_number(getattr(self, name), name, *limits)

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """What `as_options` gave, or somebody wrote; what is missing has its default.

        Raises InvalidRequest naming the field, also for one that is unknown.
        """
        known = {each.name for each in fields(cls)}
        for name in options:
            if name not in known:
                raise InvalidRequest(f"A command has no field {str(name)[:100]}.", field=str(name)[:100])
        if "command" not in options:
            raise InvalidRequest("command is missing: say which program to run.", field="command")
        given = dict(options)
        if isinstance(given.get("args"), list):
            given["args"] = tuple(given["args"])
        return cls(**given)

    def as_options(self) -> dict[str, Any]:
        """JSON values that `from_options` reads."""
        return {**asdict(self), "args": list(self.args), "env": dict(self.env)}


def _check_args(args: Any) -> None:
    if not isinstance(args, tuple):
        raise InvalidRequest("args must be a list of texts.", field="args")
    if len(args) > ARGS_MAX:
        raise InvalidRequest(f"args may be at most {ARGS_MAX}.", field="args", limit=ARGS_MAX)
    _check_each(args, "args", ARG_MAX)


def _check_env(env: Any) -> None:
    if not isinstance(env, Mapping):
        raise InvalidRequest("env must be a table of names and texts.", field="env")
    if len(env) > ENV_MAX:
        raise InvalidRequest(f"env may have at most {ENV_MAX} entries.", field="env", limit=ENV_MAX)
    for name in env:
        if not isinstance(name, str) or not ENV_NAME.fullmatch(name):
            raise InvalidRequest(_("env cannot have the name %(name)s."), field="env", name=repr(str(name)[:100]))
    _check_each(env.values(), "env", ENV_VALUE_MAX)


def _check_each(texts: Iterable[Any], name: str, limit: int) -> None:
    for text in texts:
        _check_text(text, name, limit)


def _check_text(text: Any, name: str, limit: int) -> None:
    if not isinstance(text, str):
        raise InvalidRequest(f"{name} must be text.", field=name)
    if len(text) > limit:
        raise InvalidRequest(f"{name} may be at most {limit} characters long.", field=name, limit=limit)
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidRequest(f"{name} holds a character that cannot be stored.", field=name)


def _check_number(value: Any, name: str, least: float, most: float, whole: bool) -> None:
    is_number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not least <= value <= most:
        kind = "a whole number" if whole else "a number"
        raise InvalidRequest(f"{name} must be {kind} from {least:g} to {most:.0f}.", field=name)
