"""Reads the file: what it says, and every problem that it has by itself, each with its line."""

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from registry.agents_toml.entries import AgentEntry, Document, RuleEntry, Table
from registry.agents_toml.positions import Lines, Place
from registry.agents_toml.problems import FileRefused, Problem, words_of

AGENTS: Place = ("agents",)
RULES: Place = ("routing", "rules")
_SYNTAX = re.compile(r"(.+) \(at (?:line (\d+), column \d+|end of document)\)")

Entry = TypeVar("Entry", bound=Table)


@dataclass(slots=True)
class AgentsFile:
    """The agents and rules of the file, by their places in it, and what is wrong.

    Of an agent or rule that is `broken` there is only what is right: for further checks. `ids` are those of all
    agents. Paths in the file count from `folder`.
    """

    folder: Path
    lines: Lines
    agents: dict[int, AgentEntry] = field(default_factory=dict)
    rules: dict[int, RuleEntry] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)
    broken: set[Place] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def report(self, place: Place, text: str) -> None:
        self.problems.append(Problem(self.lines.at(place), text.removesuffix(".")))


def read_file(content: bytes, folder: Path) -> AgentsFile:
    """Reads a file that stands in `folder`. Raises FileRefused where it is no TOML; other problems are in what it
    returns."""
    text, data = _parsed(content)
    file = AgentsFile(folder, Lines(text))
    _entry(file, Document, data, ())
    file.agents = _entries(file, AgentEntry, data, AGENTS)
    file.rules = _entries(file, RuleEntry, data, RULES)
    file.ids = _check_ids(file, data)
    return file


def _parsed(content: bytes) -> tuple[str, dict[str, Any]]:
    try:
        text = content.decode("utf-8-sig")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        line, words = content.count(b"\n", 0, error.start) + 1, "this is not UTF-8"
    except RecursionError:
        line, words = 1, "lists or tables are nested too deeply"
    except ValueError as error:
        found = _SYNTAX.fullmatch(str(error))
        last = len(text.splitlines()) or 1
        line, words = (int(found[2] or last), f"this is not TOML: {found[1]}") if found else (1, str(error))
    raise FileRefused([Problem(line, words)])


def _entries(file: AgentsFile, kind: type[Entry], data: dict[str, Any], above: Place) -> dict[int, Entry]:
    read = ((place, _entry(file, kind, row, (*above, place))) for place, row in enumerate(_rows(data, above)))
    return {place: entry for place, entry in read if entry is not None}


def _rows(data: Any, above: Place) -> list[Any]:
    for key in above:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, list) else []


def _entry(file: AgentsFile, kind: type[Entry], row: Any, place: Place) -> Entry | None:
    """The table at `place`, or what is right of it; None where it is none."""
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        errors = error.errors()
    for each in errors:
        file.report((*place, *each["loc"]), words_of(each, each["loc"] or place))
    file.broken.add(place)
    return kind.of_what_is_right(row, {str(each["loc"][0]) for each in errors}) if isinstance(row, dict) else None


def _check_ids(file: AgentsFile, data: dict[str, Any]) -> set[str]:
    seen: dict[str, int] = {}
    for place, row in enumerate(_rows(data, AGENTS)):
        name = row.get("id") if isinstance(row, dict) else None
        if not isinstance(name, str):
            continue
        here = (*AGENTS, place, "id")
        if name in seen:
            file.report(here, f"id {name[:100]!r} is that of the agent at line {seen[name]}, too")
        seen.setdefault(name, file.lines.at(here))
    return set(seen)
