"""The form of few-shots: `Q:`, then `Ask …` and `… says:` lines, then `A:`."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

_LINE = re.compile(
    r"(?P<query>Q:)|(?P<answer>A:)|(?P<thought>Thought:)"
    r"|(?P<ask>Ask (?:Func|Agent)\[)|(?P<says>(?:Func|Agent)\[[^\]]*\] says\b)"
)
_ASK = re.compile(r"Ask (Func|Agent)\[([^\]]*)\]:")
_SAYS = re.compile(r"(Func|Agent)\[([^\]]*)\] says:")
_NAMES = {"Func": re.compile(r"\w+"), "Agent": re.compile(r"[\w-]+(?:/[\w-]+)?")}
_NAME_RULES = {"Func": "letters, digits and _", "Agent": "handle or owner/handle"}
_NAMED = re.compile(r"^\s*(?:Ask )?(Func|Agent)\[([^\]\n]+)\](?::| says:)", re.MULTILINE)
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, and where: `few_shot` and `line` count from 1, `text` is the line, shortened."""

    few_shot: int
    line: int
    reason: str
    text: str

    def __str__(self) -> str:
        return f"Few-shot {self.few_shot}, line {self.line} (`{self.text}`): {self.reason}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def normalised(few_shot: str) -> str:
    """`few_shot` without blank space around it and around its lines, as the published SDK sends it."""
    return "\n".join(line.strip() for line in few_shot.strip().splitlines())


def split_few_shots(text: str) -> list[str]:
    """The few-shots in one text: each begins with a `Q:` after an empty line, by the SDK's own rule."""
    lines = "\n".join(line.strip() for line in text.strip().splitlines())
    first, *others = lines.split("\n\nQ:")
    return [first, *(f"Q:{other}" for other in others)]


def called_in(few_shots: Iterable[str], kind: str) -> list[str]:
    """The names of the Funcs (`kind` is `Func`) or agents (`Agent`) that few-shots call, each once, in order."""
    named = (match for few_shot in few_shots for match in _NAMED.finditer(few_shot))
    return list(dict.fromkeys(match[2] for match in named if match[1] == kind))


def problems_of(few_shot: str, number: int, *, conversational: bool) -> list[Problem]:
    """Everything wrong with few-shot `number`; a conversational agent's may hold several questions."""
    check = _Check(number, conversational)
    for line in few_shot.splitlines():
        check.read(line.strip())
    check.finish()
    return check.problems


class _Check:
    """Reads a few-shot line by line. A line of no known form continues the one before."""

    def __init__(self, number: int, conversational: bool) -> None:
        self.problems: list[Problem] = []
        self._number = number
        self._conversational = conversational
        self._line = 0
        self._text = ""
        self._state = "start"  # then "asked" after a Q:, and "answered" after an A:
        self._asked: tuple[str, str, int, str] | None = None  # kind, name, line, text

    def read(self, line: str) -> None:
        self._line += 1
        if not line:
            return
        self._text = line
        match = _LINE.match(line)
        kind = match.lastgroup if match else None
        if self._state == "start" and kind != "query":
            self._complain("A few-shot starts with `Q:`.")
            self._state = "asked"
        if kind is not None:
            getattr(self, f"_on_{kind}")(line)

    def finish(self) -> None:
        self._settle()
        if self._state == "start":
            self._complain("The few-shot is empty.")
        elif self._state == "asked":
            self._complain("The few-shot ends without an `A:` line.")

    def _on_query(self, line: str) -> None:
        self._settle()
        if self._state == "asked":
            self._complain("A second `Q:` comes before the `A:` of the first.")
        if self._state == "answered" and not self._conversational:
            self._complain("Only a conversational agent's few-shot may hold more than one `Q:`.")
        if line == "Q:":
            self._complain("The `Q:` line holds no query.")
        self._state = "asked"

    def _on_answer(self, line: str) -> None:
        self._settle()
        if self._state == "answered":
            self._complain("A second `A:` answers the same `Q:`.")
        self._state = "answered"

    def _on_thought(self, line: str) -> None:
        self._settle()
        self._check_open()

    def _on_ask(self, line: str) -> None:
        self._settle()
        self._check_open()
        match = _ASK.match(line)
        if match is None:
            self._complain("A call is written `Ask Func[name]: …` or `Ask Agent[name]: …`.")
            return
        kind, name = match[1], match[2]
        self._check_name(kind, name)
        self._asked = (kind, name, self._line, line)

    def _on_says(self, line: str) -> None:
        self._check_open()
        match = _SAYS.match(line)
        if match is None:
            self._complain("An answer is written `Func[name] says: …` or `Agent[name] says: …`.")
        elif self._asked is None:
            self._check_name(match[1], match[2])
        elif (match[1], match[2]) != self._asked[:2]:
            self._complain(f"The answer to `Ask {self._asked[0]}[{self._asked[1]}]` was expected here.")
        self._asked = None

    def _settle(self) -> None:
        """No answer to a pending Ask has come, and now it is too late."""
        if self._asked is not None:
            kind, name, line, text = self._asked
            self._asked = None
            self._complain(f"A line `{kind}[{name}] says: …` must follow.", line=line, text=text)

    def _check_open(self) -> None:
        if self._state == "answered":
            self._complain("After an `A:` only a new `Q:` may come.")

    def _check_name(self, kind: str, name: str) -> None:
        if not _NAMES[kind].fullmatch(name):
            self._complain(f"{kind} names are {_NAME_RULES[kind]}.")

    def _complain(self, reason: str, *, line: int | None = None, text: str | None = None) -> None:
        shown = self._text if text is None else text
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
        self.problems.append(Problem(self._number, line or max(self._line, 1), reason, shown))
