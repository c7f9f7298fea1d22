"""Where in the text of a manifest its problems stand. Lines count from 1. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import yaml

# Of a manifest: so much is shown, and looked through for lines.
SHOWN_MAX = 128 * 1024
_PARTS = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class Source:
    """The manifest as people are shown it: JSON laid out, YAML as it came. `cut`: it goes on."""

    text: str
    language: str
    cut: bool


def source_of(body: bytes) -> Source:
    """What was sent. What is no UTF-8 is replaced."""
    try:
        text, language = orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2).decode(), "json"
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        text, language = body.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}"), "yaml"
    return Source(text[:SHOWN_MAX], language, len(text) > SHOWN_MAX)


def lines_of(source: Source, problems: Sequence[Mapping[str, Any]]) -> list[int | None]:
    """The line of each problem (of `manifest.parse_manifest`'s details); None where it has none, or none is found."""
    root = None if source.cut else _composed(source.text)
    return [_line(root, problem) if root is not None else None for problem in problems]


def _composed(text: str) -> yaml.Node | None:
    """The nodes of a text that was read already. JSON, laid out, is YAML, but for some of its keys."""
    try:
        return yaml.compose(text, yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _line(root: yaml.Node, problem: Mapping[str, Any]) -> int | None:
    number = problem.get("few_shot")
    if number:
        return _line_of_few_shot(_child(root, "few_shots"), number - 1, problem["line"] - 1)
    found, node = None, root
    for part in _PARTS.findall(problem.get("field") or ""):
        key = _key(node, part)
        child = _child(node, part)
        if child is None:
            break
        found, node = (key or child).start_mark.line + 1, child
    return found


def _line_of_few_shot(node: yaml.Node | None, number: int, line: int) -> int | None:
    """The line `line` (from 0) of the few-shot `number` (from 0): of a list, or of one text that holds them all."""
    if isinstance(node, yaml.SequenceNode) and number < len(node.value):
        return _line_in_text(node.value[number], line)
    if isinstance(node, yaml.ScalarNode):
        return _line_in_text(node, _offset(node.value, number) + line)
    return None


def _line_in_text(node: yaml.Node, line: int) -> int:
    # Only in a literal block does each line of the text stand on a line of its own, after the one with the mark.
    first = node.start_mark.line + 1
    return first + 1 + line if getattr(node, "style", None) == "|" else first


def _offset(text: str, number: int) -> int:
    """How many lines of `text` stand before the few-shot `number`, as `few_shots.split_few_shots` cuts it."""
    lines = [line.strip() for line in text.splitlines()]
    first = next((place for place, line in enumerate(lines) if line), 0)
    starts = [place for place in range(first + 1, len(lines)) if lines[place].startswith("Q:") and not lines[place - 1]]
    return [first, *starts][min(number, len(starts))]


def _key(node: yaml.Node, name: str) -> yaml.Node | None:
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((key for key, _ in pairs if key.value == name), None)


def _child(node: yaml.Node, name: str) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode):
        return node.value[int(name)] if name.isdecimal() and int(name) < len(node.value) else None
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in pairs if key.value == name), None)
