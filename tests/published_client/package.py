"""The published client as tests hold it: its objects, and its commands in the hands of one person."""

import base64
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from tests.sessions_app.people import wait_until
from tests.sites import ROOT

HOME = ROOT / ".venvs" / "fixieai"
PYTHON = HOME / "bin" / "python"
# How long a command may take on a busy machine.
SECONDS = 60.0
PROMPT = "fixie 🦊❯"
RETURNS = re.compile(r"\r+\n")
# What moves a terminal's cursor and colours its letters: ECMA-48's CSI sequences, titles, and lone escapes.
CONTROLS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|.)")


class Raised(Exception):
    """The client raised an exception of this `kind`, which a person reads as `text`."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text


class Package:
    """The package in a process of its own environment (`inside.py`), pointed at one site."""

    def __init__(self, url: str, home: Path, **environment: str) -> None:
        self.environment = {
            "PATH": f"{HOME / 'bin'}:{os.environ['PATH']}",
            "FIXIE_API_URL": url,
            "HOME": str(home),
            "PYTHONUNBUFFERED": "1",
            "PYTHONWARNINGS": "ignore",
            **environment,
        }
        words = [PYTHON, "-P", Path(__file__).with_name("inside.py")]
        self._process = subprocess.Popen(
            words, env=self.environment, stdin=-1, stdout=-1, text=True, start_new_session=True
        )

    def ask(self, do: str, **request: Any) -> Any:
        """What `inside.py` answers. Raises Raised."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise Raised(*answer["error"])
        return answer["result"]

    @property
    def module(self) -> "Remote":
        """The module `fixieai` itself."""
        return Remote(self, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)


class Remote:
    """An object of the client's. Attributes are its own; what it raises is raised here as Raised."""

    def __init__(self, package: Package, number: int) -> None:
        self._package = package
        self._number = number

    def __getattr__(self, name: str) -> Any:
        value = self._decoded(self._package.ask("get", of=self._number, name=name))
        return partial(self._call, name) if isinstance(value, dict) and "$method" in value else value

    def _call(self, name: str, /, *args: Any, **named: Any) -> Any:
        arguments = [_encoded(arg) for arg in args]
        options = {key: _encoded(value) for key, value in named.items()}
        return self._decoded(self._package.ask("call", of=self._number, name=name, args=arguments, named=options))

    def _decoded(self, value: Any) -> Any:
        is_object = isinstance(value, dict) and "$object" in value
        return Remote(self._package, value["$object"]) if is_object else value


def _encoded(value: Any) -> Any:
    return {"$bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code, and what it printed."""

    code: int
    out: str
    err: str


class Running:
    """A command at work."""

    def __init__(self, package: Package, words: tuple[str, ...], place: "Place", files: list[str]) -> None:
        self._package = package
        self._code: int | None = None
        self.process: int = package.ask("start", words=words, files=files, **place.as_dict())

    def has_ended(self) -> bool:
        if self._code is None:
            self._code = self._package.ask("wait", process=self.process)
        return self._code is not None

    def code(self) -> int:
        """Its exit code, once it has ended."""
        self._wait(self.has_ended, "It goes on")
        assert self._code is not None
        return self._code

    def shown(self) -> str:
        """All that is there to see of it."""
        raise NotImplementedError

    def wait_for(self, text: str, times: int) -> None:
        """Waits until `text` is there to see so often; fails where the command ends without it."""
        self._wait(lambda: self.shown().count(text) >= times or self.has_ended(), f"No {text!r}")
        assert self.shown().count(text) >= times, f"No {text!r}:\n{self.shown()}"

    def _wait(self, condition: Callable[[], bool], complaint: str) -> None:
        try:
            wait_until(condition, SECONDS)
        except AssertionError:
            raise AssertionError(f"{complaint}:\n{self.shown()}") from None


class Command(Running):
    """A command whose output goes to files, and whose input comes from one."""

    def __init__(self, package: Package, words: tuple[str, ...], place: "Place", typed: str) -> None:
        self._in, self._out, self._err = (place.new_file() for _ in range(3))
        self._in.write_text(typed)
        super().__init__(package, words, place, [str(file) for file in (self._in, self._out, self._err)])

    def shown(self) -> str:
        return self._out.read_text() + self._err.read_text()

    def until(self, text: str, times: int = 1) -> str:
        """What it has printed once `text` is in it, so many times."""
        self.wait_for(text, times)
        return self._out.read_text()

    def ended(self) -> Ended:
        """Waits for its end."""
        return Ended(self.code(), self._out.read_text(), self._err.read_text())

    def interrupted(self) -> Ended:
        """Ctrl-C."""
        os.kill(self.process, signal.SIGINT)
        return self.ended()


class Terminal(Running):
    """A command on a terminal."""

    def __init__(self, package: Package, words: tuple[str, ...], place: "Place") -> None:
        self._seen = b""
        self._screen, slave = pty.openpty()
        super().__init__(package, words, place, [os.ttyname(slave)] * 3)
        # Kept open: reading fails on Linux while nobody holds this end, as before the command has opened it.
        self._slave = slave

    def shown(self) -> str:
        """What has come since the last `until`; without colours and movements."""
        self._read()
        return RETURNS.sub("\n", CONTROLS.sub("", self._seen.decode(errors="replace")))

    def until(self, text: str) -> str:
        """What has come since the last call, up to and with `text`."""
        self.wait_for(text, 1)
        before, found, after = self.shown().partition(text)
        self._seen = after.encode()
        return before + found

    def enter(self, text: str) -> None:
        """Types a line, once it is asked for."""
        self._type(f"{text}\r")

    def left(self) -> Ended:
        """Ctrl-D, once a line is asked for; `out` is what has come since the last `until`."""
        self._type("\x04")
        code, shown = self.code(), self.shown()
        os.close(self._slave)
        os.close(self._screen)
        return Ended(code, shown, "")

    def _type(self, keys: str) -> None:
        self.until(PROMPT)
        os.write(self._screen, keys.encode())

    def _read(self) -> None:
        while select.select([self._screen], [], [], 0)[0]:
            self._seen += os.read(self._screen, 65536)


@dataclass(frozen=True)
class Place:
    """Where a command is started: its environment and its folder."""

    environment: dict[str, str]
    folder: Path

    def as_dict(self) -> dict[str, Any]:
        return {"environment": self.environment, "folder": str(self.folder)}

    def new_file(self) -> Path:
        handle, name = tempfile.mkstemp(dir=self.environment["HOME"])
        os.close(handle)
        return Path(name)
