"""Reading a model's completion while it is being written: the lines that are finished, and the answer as it grows."""

import re
from dataclasses import dataclass

from sessions_app.llm.format import ASKS, MARKER, REPLIES, Kind, Line, could_be_marker, kind_and_name

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
# What PostgreSQL cannot store.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """`text` without NUL and lone surrogates."""
    return _UNSTORABLE.sub("", text)


@dataclass(frozen=True, slots=True)
class AnswerText:
    """More of the answer. A completion's texts together are the answer, without white space around it."""

    text: str


Found = Line | AnswerText


class CompletionReader:
    """Takes a completion in pieces and gives back what they bring: thoughts, one `Ask`, text of the answer.

    What a model writes after an `Ask`, or in the name of a
    Func, an agent or the user, is not read: then `is_done` is set. Where an `Ask` follows an answer, that was
    no answer yet: it is given back as a thought, and `answer` is empty again.
    """

    def __init__(self) -> None:
        self.is_done = False
        self.answer = ""
        self._preamble = ""
        self._kind: Kind | None = None
        self._name = ""
        self._value = ""
        # The beginning of a line that may still turn out to be a marker.
        self._held = ""
        self._at_line_start = True
        # White space that belongs to the answer only if something follows it.
        self._space = ""
        self._found: list[Found] = []

    @property
    def unmarked(self) -> str:
        """The completion's text, where it holds no marker at all."""
        return self._preamble.strip() if self._kind is None else ""

    def feed(self, piece: str) -> list[Found]:
        """What this piece finishes or adds."""
        for part in _LINES.findall(storable(piece)):
            if self.is_done:
                break
            if self._at_line_start:
                self._held += part
                self._decide()
            else:
                self._add(part)
        return self._collected()

    def finish(self) -> list[Found]:
        """What the end of the completion finishes."""
        if not self.is_done:
            self._add(self._held)
            self._close()
            self.is_done = True
        return self._collected()

    def _collected(self) -> list[Found]:
        found, self._found = self._found, []
        return found

    def _decide(self) -> None:
        """Whether the held text is a marker, may become one, or is just text."""
        held, self._held = self._held, ""
        # White space before the first marker is nothing.
        start = held.lstrip() if self._kind is None else held
        match = MARKER.match(start)
        if match is None and "\n" not in start and could_be_marker(start):
            self._held = held
            return
        self._at_line_start = False
        if match is None or (self._kind is Kind.ANSWER and kind_and_name(match)[0] is Kind.ANSWER):
            self._add(held)
            return
        self._open(*kind_and_name(match))
        if not self.is_done:
            self._add(start[match.end() :])

    def _open(self, kind: Kind, name: str) -> None:
        """Begins a line of this kind, after closing the one before it."""
        if self._kind is Kind.ANSWER and kind in ASKS and self.answer:
            self._found.append(Line(Kind.THOUGHT, self.answer))
            self.answer = self._space = ""
            self._kind = Kind.THOUGHT
        is_over = self._kind in ASKS or self._kind is Kind.ANSWER
        self._close()
        # A question that comes first is only the user's, said again.
        repeats = kind is Kind.QUESTION and self._kind in (None, Kind.QUESTION)
        self.is_done = is_over or kind in REPLIES or (kind is Kind.QUESTION and not repeats)
        self._kind, self._name, self._value = kind, name, ""

    def _close(self) -> None:
        value = self._value.strip()
        if self._kind in ASKS or (self._kind is Kind.THOUGHT and value):
            self._found.append(Line(self._kind, value, self._name))

    def _add(self, text: str) -> None:
        if self._kind is None:
            self._preamble += text
        elif self._kind is Kind.ANSWER:
            self._add_answer(text)
        else:
            self._value += text
        self._at_line_start = text.endswith("\n")

    def _add_answer(self, text: str) -> None:
        text = self._space + text if self.answer else text.lstrip()
        written = text.rstrip()
        self._space = text[len(written) :]
        if written:
            self.answer += written
            self._found.append(AnswerText(written))
