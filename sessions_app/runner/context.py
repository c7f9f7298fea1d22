"""What answering a query may see and do of its run: the transcript so far, new steps, Func calls, live text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from registry.transports.base import AgentMessage, EmbedRef, Manifest
from sessions_app.llm.base import Usage


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the run that is already in the transcript.

    `number` counts the run's steps from 1. `text` is a line (or lines) of the Code Shot format:
    `Ask Func[x]: …` (kind func_call), `Func[x] says: …` (func_output), `Thought: …` (thought).
    """

    number: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier query of the session and its answer."""

    query: str
    answer: str


class RunContext(Protocol):
    """Handed to whatever answers a query. Every method may raise asyncio.CancelledError: let it pass."""

    @property
    def agent_id(self) -> str:
        """`owner/handle` of the agent that answers."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def query(self) -> AgentMessage: ...

    @property
    def steps(self) -> list[Step]:
        """Steps already stored, in order; those of an earlier process first when a run was recovered."""

    async def history(self) -> list[Exchange]:
        """Earlier finished exchanges of the session, oldest first (bounded)."""

    async def append(self, kind: str, text: str, embeds: Mapping[str, EmbedRef] | None = None) -> Step:
        """Stores one step; it survives the death of this process.

        `embeds` are an agent's, by the keys that `text` uses. They are fetched and get keys of the session, which
        the text of the returned step uses; it also says which of them could not be had.
        """

    async def call_func(self, step: Step, func: str, text: str) -> AgentMessage:
        """Calls a Func of the agent over its transport, with `step`'s number in the Idempotency-Key.

        It is handed the embeds of the session that `text` names.
        `step` is the stored func_call step. Making the same call again after a crash uses the same key.
        Raises the transport's FixieErrors. Stores nothing.
        """

    def write(self, text: str) -> None:
        """Adds `text` to the live response."""

    def rewrite(self, text: str) -> None:
        """Makes `text` the whole live response so far."""

    def count(self, usage: Usage) -> None:
        """Adds the tokens of one completion to the run."""
