"""The text format of Code Shot transcripts and few-shots, read into typed lines and written back.

The format is that of the Fixie Agent Protocol: a marker at the start of a line opens a value, which goes on
until the next marker. In few-shots `##` stands for a literal `#`; everywhere else text is just text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a line says. `Ask` and `says` lines carry a Func's or an agent's name."""

    QUESTION = "Q"
    ANSWER = "A"
    THOUGHT = "Thought"
    ASK_FUNC = "Ask Func"
    FUNC_SAYS = "Func says"
    ASK_AGENT = "Ask Agent"
    AGENT_SAYS = "Agent says"


ASKS = frozenset({Kind.ASK_FUNC, Kind.ASK_AGENT})
REPLIES = frozenset({Kind.FUNC_SAYS, Kind.AGENT_SAYS})


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of a transcript; its text may hold several lines. `name` is empty where the kind has none."""

    kind: Kind
    text: str
    name: str = ""


# Anything, so that a name that cannot exist is answered as an unknown Func rather than taken for prose.
_NAME = r"[^\[\]\n]{1,101}"
_MARK = (
    rf"(?:(?P<plain>Q|A|Thought)|Ask (?P<asked>Func|Agent)\[(?P<to>{_NAME})\]"
    rf"|(?P<said>Func|Agent)\[(?P<by>{_NAME})\] says):"
)
MARKER = re.compile(_MARK)
_LINE_MARKER = re.compile(rf"^{_MARK}", re.MULTILINE)
_LOOKS_LIKE_MARKER = re.compile(rf"^(?=[ ]*{_MARK})", re.MULTILINE)
_QUOTED = re.compile(rf"^[ ](?=[ ]*{_MARK})", re.MULTILINE)
_INDENTED = re.compile(rf"^[ \t]+(?={_MARK})", re.MULTILINE)
_SAYS = {"Func": Kind.FUNC_SAYS, "Agent": Kind.AGENT_SAYS}
_ASK = {"Func": Kind.ASK_FUNC, "Agent": Kind.ASK_AGENT}

_FIXED = ("Q:", "A:", "Thought:")
_OPENINGS = ("Ask Func[", "Ask Agent[", "Func[", "Agent[")
# Longer lines are no marker any more, so that a live answer is never held back for long.
_LONGEST_MARKER = 140


def marker(kind: Kind, name: str = "") -> str:
    """`marker(Kind.ASK_FUNC, "roll")` → `"Ask Func[roll]:"`."""
    if kind in ASKS:
        return f"{kind.value}[{name}]:"
    if kind in REPLIES:
        return f"{kind.value.removesuffix(' says')}[{name}] says:"
    return f"{kind.value}:"


def kind_and_name(match: re.Match[str]) -> tuple[Kind, str]:
    """What a match of `MARKER` opens."""
    if match["plain"]:
        return Kind(match["plain"]), ""
    if match["asked"]:
        return _ASK[match["asked"]], match["to"]
    return _SAYS[match["said"]], match["by"]


def could_be_marker(start: str) -> bool:
    """Whether a line that begins with `start` may still turn out to be a marker."""
    if any(fixed.startswith(start) for fixed in _FIXED):
        return True
    if any(opening.startswith(start) for opening in _OPENINGS):
        return True
    if not start.startswith(_OPENINGS) or len(start) > _LONGEST_MARKER:
        return False
    rest = start.partition("[")[2]
    _, closed, end = rest.partition("]")
    return not closed or (":" if start.startswith("Ask") else " says:").startswith(end)


def render(line: Line) -> str:
    """`line` as text. Lines inside its value that look like a marker are set in by one space."""
    first, newline, rest = line.text.partition("\n")
    quoted = _LOOKS_LIKE_MARKER.sub(" ", rest)
    return f"{marker(line.kind, line.name)} {first}{newline}{quoted}".rstrip(" ")


def quoted(step: str) -> str:
    """A stored step (`"Func[x] says: …"`) as it may stand in a transcript: `render` of what it holds."""
    return render(read_step(step))


def read_step(step: str) -> Line:
    """A stored step: its first marker is the line's, all that follows is the value. No marker: a thought."""
    match = MARKER.match(step)
    if match is None:
        return Line(Kind.THOUGHT, step.strip())
    kind, name = kind_and_name(match)
    return Line(kind, step[match.end() :].strip(), name)


def parse(text: str) -> list[Line]:
    """Reads a transcript. Text before the first marker is left out; values lose surrounding white space."""
    starts = list(_LINE_MARKER.finditer(text))
    ends = [*(match.start() for match in starts[1:]), len(text)][: len(starts)]
    return [_line(match, text[match.end() : end]) for match, end in zip(starts, ends, strict=True)]


def _line(match: re.Match[str], value: str) -> Line:
    kind, name = kind_and_name(match)
    return Line(kind, _QUOTED.sub("", value).strip(), name)


@dataclass(frozen=True, slots=True)
class Shot:
    """One question with its answer and what lies between them."""

    question: str
    steps: tuple[Line, ...]
    answer: str


def parse_few_shot(text: str) -> list[Shot]:
    """The question-and-answer pairs of a few-shot: one, or several where it is conversational.

    Set-in markers count, `##` becomes `#`, and a pair without its answer is left out.
    """
    shots: list[Shot] = []
    question: str | None = None
    steps: list[Line] = []
    for line in parse(_INDENTED.sub("", text)):
        clean = Line(line.kind, line.text.replace("##", "#"), line.name)
        if clean.kind is Kind.QUESTION:
            question, steps = clean.text, []
        elif clean.kind is Kind.ANSWER and question is not None:
            shots.append(Shot(question, tuple(steps), clean.text))
            question = None
        else:
            steps.append(clean)
    return shots


def funcs_named(few_shots: Iterable[str]) -> dict[str, list[str]]:
    """Every Func that few-shots name, with the arguments that they ask it with."""
    return _named(few_shots, asks=Kind.ASK_FUNC, says=Kind.FUNC_SAYS)


def agents_named(few_shots: Iterable[str]) -> dict[str, list[str]]:
    """The same of agents."""
    return _named(few_shots, asks=Kind.ASK_AGENT, says=Kind.AGENT_SAYS)


def _named(few_shots: Iterable[str], *, asks: Kind, says: Kind) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in few_shots:
        for line in parse(_INDENTED.sub("", text)):
            if line.kind in (asks, says):
                arguments = found.setdefault(line.name, [])
                if line.kind is asks:
                    arguments.append(line.text)
    return found
