"""Language models behind one interface."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything a model needs to write the next lines of a Code Shot transcript.

    `few_shots` are the manifest's, each `Q: … A: …`. `history` holds earlier exchanges of the session in the
    same format (empty unless the agent is conversational). `query` is the user's text. `lines` is what this
    run's transcript holds after `Q: query` so far: `Ask Func[x]: …`, `Func[x] says: …`, `Thought: …`.
    """

    base_prompt: str
    few_shots: tuple[str, ...]
    query: str
    history: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """An agent's wishes; None leaves the choice to the site's settings."""

    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one completion, as counted by the server (0 where it does not say)."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class LanguageModel(ABC):
    """`is_general` says whether it does what a prompt's words ask for, beyond following its examples."""

    is_general: ClassVar[bool] = True

    @abstractmethod
    def complete(self, prompt: Prompt, options: ModelOptions) -> AsyncGenerator[str | Usage]:
        """Yields text that continues the transcript, piece by piece, and at most one `Usage` at the end.

        The text is lines of the Code Shot format and stops before any `Func[x] says:` or `Q:` line.
        Raises `common.errors.ModelUnavailable`. Closing the generator closes the call.
        """

    async def aclose(self) -> None:
        return None
