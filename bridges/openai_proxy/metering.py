"""What a call uses: read from the server's answer while it passes, estimated where the server does not say."""

import re
from dataclasses import dataclass
from typing import Any

import orjson

from bridges.openai_proxy.errors import ProxyError

CHARACTERS_A_TOKEN = 4
# What fits the columns it is added up in, whatever a server says.
TOKENS_MAX = 2**31
EVENT_MAX_BYTES = 8 * 1024 * 1024
DONE = b"[DONE]"
_EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")


@dataclass(frozen=True, slots=True)
class Tokens:
    prompt: int = 0
    completion: int = 0


class Meter:
    """Counts the tokens of one call. `request` is its body, `take` gets every document of the answer.

    Where the server never says, a token is about four characters of the request's texts (data URLs left out) and
    of what was written.
    """

    def __init__(self, request: Any) -> None:
        self._asked = characters(request)
        self._written = 0
        self._said: Tokens | None = None

    def take(self, document: Any) -> None:
        if not isinstance(document, dict):
            return
        self._said = _said(document.get("usage")) or self._said
        choices = document.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._written += characters([choice.get(name) for name in ("delta", "message", "text")])

    def tokens(self) -> Tokens:
        return self._said or Tokens(_estimate(self._asked), _estimate(self._written))


def characters(value: Any) -> int:
    """Length of all texts in a JSON value, names left out; a number of a prompt of token numbers counts as a token."""
    count, left = 0, [value]
    while left:
        match left.pop():
            case str(text):
                count += 0 if text.startswith("data:") else len(text)
            case dict(fields):
                left.extend(fields.values())
            case [int(), *_] as numbers:
                count += CHARACTERS_A_TOKEN * len(numbers)
            case list(items):
                left.extend(items)
    return count


def _estimate(count: int) -> int:
    return min(-(-count // CHARACTERS_A_TOKEN), TOKENS_MAX)


def _said(usage: Any) -> Tokens | None:
    """The tokens of a `usage`; embeddings have no `completion_tokens`."""
    if not isinstance(usage, dict):
        return None
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens") or 0
    if not isinstance(prompt, int) or not isinstance(completion, int):
        return None
    return Tokens(max(0, min(prompt, TOKENS_MAX)), max(0, min(completion, TOKENS_MAX)))


class Events:
    """Cuts a stream of server-sent events into whole events, byte for byte.

    Format: https://html.spec.whatwg.org/multipage/server-sent-events.html
    """

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The events that are complete now. Raises ProxyError for one without end."""
        self.rest += data
        events, start = [], 0
        for end in _EVENT_END.finditer(self.rest):
            events.append(self.rest[start : end.end()])
            start = end.end()
        self.rest = self.rest[start:]
        if len(self.rest) > EVENT_MAX_BYTES:
            raise ProxyError(502, "The language model server sends an event without end.", code="model_unavailable")
        return events


def data_of(event: bytes) -> bytes:
    """What the `data:` lines of an event hold."""
    lines = event.splitlines()
    return b"\n".join(line[5:].strip() for line in lines if line.startswith(b"data:"))


def document_of(data: bytes) -> Any:
    """The JSON in `data`, or None."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def is_only_usage(document: Any) -> bool:
    """Whether this is the last chunk of a stream, which OpenAI sends to those who ask for `include_usage`."""
    return isinstance(document, dict) and document.get("choices") == [] and bool(document.get("usage"))
