"""What an AgentApp says that it used of language models. Pure."""

from collections.abc import Mapping
from typing import Any

from registry.transports.base import TokensUsed

# More than a model reads or writes in one answer; whoever says so is wrong.
TOKENS_MAX = 10**9
_PROMPT = ("input_tokens", "prompt_tokens")
_COMPLETION = ("output_tokens", "completion_tokens")


class Tally:
    """The tokens of one answer: those of its messages together, or of the response where that says more.

    The published server gives the response the usage of its last message.
    """

    def __init__(self) -> None:
        self._messages = (0, 0)
        self._response = (0, 0)

    def add_message(self, usage: Mapping[str, Any] | None) -> None:
        self._messages = (
            _bounded(self._messages[0] + _tokens(usage, _PROMPT)),
            _bounded(self._messages[1] + _tokens(usage, _COMPLETION)),
        )

    def set_response(self, usage: Mapping[str, Any] | None) -> None:
        self._response = (_tokens(usage, _PROMPT), _tokens(usage, _COMPLETION))

    @property
    def used(self) -> TokensUsed | None:
        """None where nothing was said."""
        prompt, completion = map(max, self._messages, self._response)
        return TokensUsed(prompt, completion) if prompt or completion else None


def _tokens(usage: Mapping[str, Any] | None, names: tuple[str, ...]) -> int:
    said = [(usage or {}).get(name) for name in names]
    number = next((value for value in said if isinstance(value, int | float) and not isinstance(value, bool)), 0)
    return _bounded(number)


def _bounded(number: float) -> int:
    """From 0 to TOKENS_MAX, without fractions; NaN, which is greater than nothing, is 0."""
    return int(min(max(0, number), TOKENS_MAX))
