"""A prompt as chat messages that make an ordinary chat model continue a Code Shot transcript."""

from collections.abc import Iterable
from typing import Literal, TypedDict

from sessions_app.llm.base import Prompt
from sessions_app.llm.format import Kind, Line, Shot, parse, parse_few_shot, render

# A model stops before it would answer for a Func, for an agent or for the user. Servers take four at most.
STOP = ("\nFunc[", "\nAgent[", "\nQ:")

RULES = """You continue the transcript of a conversation between a user and an agent. You write the agent's lines \
only, each starting with its marker at the beginning of a line, without any other text, quotes or code fences:

Ask Func[name]: argument
  calls one of the agent's functions. Stop after it: its answer comes as a line `Func[name] says: …`, which you must \
never write yourself. An argument may take several lines.
Ask Agent[owner/name]: request
  asks another agent in the same way, answered by `Agent[owner/name] says: …`.
Thought: …
  a short note on what to do next, followed by another line.
A: answer
  the final answer to the user. It may take several lines and ends the transcript.

`Q:` lines are the user's. Use only functions and agents that appear below, with arguments of the same form. Use what \
they answer, and make nothing up. Write the next line or lines now, and nothing that is already there."""


class Message(TypedDict):
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


def messages(prompt: Prompt) -> list[Message]:
    """Rules, base prompt and few-shots as the system's; the history in turns; then the transcript so far."""
    transcript = [render(Line(Kind.QUESTION, prompt.query)), *prompt.lines]
    return [
        Message(role="system", content=_system(prompt)),
        *_history(prompt.history),
        Message(role="user", content="\n".join(transcript)),
    ]


def _system(prompt: Prompt) -> str:
    parts = [RULES]
    if prompt.base_prompt.strip():
        parts.append(f"About this agent:\n{prompt.base_prompt.strip()}")
    shots = ["\n".join(map(_shot, parse_few_shot(text))) for text in prompt.few_shots]
    examples = [text for text in shots if text]
    if examples:
        parts.append("Examples of whole transcripts:\n\n" + "\n\n".join(examples))
    return "\n\n".join(parts)


def _shot(shot: Shot) -> str:
    lines = [Line(Kind.QUESTION, shot.question), *shot.steps, Line(Kind.ANSWER, shot.answer)]
    return "\n".join(map(render, lines))


def _history(exchanges: Iterable[str]) -> list[Message]:
    """Each exchange as the user's `Q:` and the assistant's lines after it."""
    turns: list[Message] = []
    for line in parse("\n".join(exchanges)):
        role: Literal["user", "assistant"] = "user" if line.kind is Kind.QUESTION else "assistant"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += "\n" + render(line)
        else:
            turns.append(Message(role=role, content=render(line)))
    return turns
