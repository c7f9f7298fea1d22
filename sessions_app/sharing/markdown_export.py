"""A conversation as a Markdown document: each question with what answers it, the steps folded."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from django.utils.translation import get_language, gettext, ngettext, override

from sessions_app.frames import Frame
from sessions_app.models import Message
from sessions_app.sharing.markdown_text import contained, fenced, line_of, quoted

_ANSWERS = (Message.Kind.RESPONSE, Message.Kind.ERROR)


@dataclass(slots=True)
class _Turn:
    """What one run of a person's question, and those below it, said. `query` is None for what came late."""

    run: str
    query: Frame | None
    steps: list[Frame] = field(default_factory=list)
    answers: list[Frame] = field(default_factory=list)


class Document:
    """Takes the messages of a session in order and gives the text of each turn once it is over.

    One question of a session is answered at a time: only the turn at work and questions that wait are kept. Its words
    are of the language in which it was made.
    """

    def __init__(self) -> None:
        self._language = get_language()
        self._waiting: dict[str, Frame] = {}
        self._turn: _Turn | None = None

    def head(self, title: str, agent: str | None, created: datetime) -> str:
        """The beginning of the document."""
        with override(self._language):
            lines = [f"# {line_of(title)}", "", f"{gettext('Begun')}: {_moment(created.isoformat())}"]
            if agent:
                lines += ["", f"{gettext('Agent')}: {agent}"]
            return "\n".join([*lines, "", ""])

    def add(self, message: Frame, top: str) -> Iterator[str]:
        """Takes a message of the tree of runs below `top`; gives what is over with it."""
        if message["kind"] == Message.Kind.QUERY:
            self._waiting[top] = message
            return
        if self._turn is None or self._turn.run != top:
            yield from self._begun(top)
        assert self._turn is not None
        is_answer = message["kind"] in _ANSWERS and message["run"] == top
        (self._turn.answers if is_answer else self._turn.steps).append(message)

    def end(self) -> Iterator[str]:
        """The last turn, and what nobody answered."""
        yield from self._begun("")

    def _begun(self, top: str) -> Iterator[str]:
        """Ends the turn at work and begins that of `top`, or none."""
        if self._turn is not None:
            yield self._text(self._turn)
        # Who was asked earlier and said nothing was stopped while waiting. What comes late ends nobody's waiting.
        while self._waiting and (top in self._waiting or not top) and (run := next(iter(self._waiting))) != top:
            yield self._text(_Turn(run, self._waiting.pop(run)))
        self._turn = _Turn(top, self._waiting.pop(top, None)) if top else None

    def _text(self, turn: _Turn) -> str:
        with override(self._language):
            parts = [] if turn.query is None else _said(gettext("You"), turn.query, quoted(turn.query["text"]))
            if turn.steps:
                parts += _steps(turn.steps)
            for answer in turn.answers:
                name = answer["agent"] or gettext("An agent")
                who = f"{name} ({gettext('error')})" if answer["kind"] == Message.Kind.ERROR else name
                parts += _said(who, answer, contained(answer["text"]))
            return "\n\n".join(parts) + "\n\n"


def _said(who: str, message: Frame, text: str) -> list[str]:
    parts = [f"## {who} · {_moment(message['created'])}", text]
    return [*parts, _attachments(message)] if message["embeds"] else parts


def _steps(steps: list[Frame]) -> list[str]:
    count = ngettext("%(n)s step", "%(n)s steps", len(steps)) % {"n": len(steps)}
    parts = [f"<details><summary>{count}</summary>"]
    for step in steps:
        parts += [f"**{step['agent'] or gettext('An agent')}**", fenced(step["text"])]
        if step["embeds"]:
            parts.append(_attachments(step))
    return [*parts, "</details>"]


def _attachments(message: Frame) -> str:
    return "\n".join(
        f"- {gettext('Attachment')} #{key}: {line_of(_named(embed))}, "
        + ngettext("%(n)s byte", "%(n)s bytes", embed["size"]) % {"n": embed["size"]}
        for key, embed in message["embeds"].items()
    )


def _named(embed: Frame) -> str:
    return f"{embed['name']} ({embed['content_type']})" if embed["name"] else embed["content_type"]


def _moment(moment: str) -> str:
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
