"""What answering a query may see and do of its run: the transcript so far, new steps, Func calls, live text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from registry.routing.router import Route
from registry.transports.base import AgentMessage, EmbedRef, Exchange, Manifest
from sessions_app.llm.base import Usage


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the run that is already in the transcript.

    `number` counts the run's steps from 1. `text` is a line (or lines) of the Code Shot format:
    `Ask Func[x]: …` (kind func_call), `Func[x] says: …` (func_output), `Thought: …` (thought). Of the runs that
    this one opened by asking agents: `Ask Agent[x]: …` (agent_call), `Agent[x] says: …` (agent_output).
    """

    number: int
    kind: str
    text: str


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
    def embed_keys(self) -> Sequence[int]:
        """The session's keys of the query's own embeds, whether its text names them or not."""

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

    async def append_all(self, steps: Sequence[tuple[str, str]]) -> list[Step]:
        """Stores steps, each as (kind, text), in one statement: all of them or none. They have no embeds."""

    async def call_func(self, step: Step, func: str, text: str) -> AgentMessage:
        """Calls a Func of the agent over its transport, with `step`'s number in the Idempotency-Key.

        It is handed the embeds of the session that `text` names, of those that this run knows.
        `step` is the stored func_call step. Making the same call again after a crash uses the same key.
        Raises the transport's FixieErrors. Stores nothing.
        """

    async def route(self, text: str, k: int) -> Route:
        """The `k` best agents for `text` of those that this run may ask. Raises as `registry.routing.router.route`."""

    async def ask_agent(self, agent: str, text: str, *, on_text: Callable[[str], None] | None = None) -> AgentMessage:
        """Asks an agent as the next step of this run, in a run of its own below this one; returns its answer.

        `agent` is `owner/handle`, or a `handle`: then of the asking agent's owner, else of `fixie`. `text` is handed
        over with the embeds of the session that it names and this run knows; those of the answer are keys of the
        session, too, and its text names them all. `on_text` is given the answer's whole text so far whenever there is
        more of it.

        One at a time: `steps` has the `agent_call` as soon as it is accepted, the `agent_output` with the answer. Where
        the last step is this very call without an answer (the run was taken over), it is not asked again, but
        waited for.

        Raises NotFound where there is no such agent that the user can ask, AgentSwitchedOff, RateLimited where its
        limit of the minute is reached, QuotaExceeded where that of the day is, AgentFailed where it fails or is
        stopped, or where it must not be asked: too deep, in a circle, too often. Nothing is stored then, but for the
        call that fails.
        """

    async def query_corpus(self, question: str) -> str:
        """The passages of the agent's corpora that answer best, with their sources; or why there are none."""

    async def query_embed(self, text: str) -> str:
        """The passages that answer `text` best of the embeds it names and this run knows; or why there are none."""

    def write(self, text: str) -> None:
        """Adds `text` to the live response."""

    def rewrite(self, text: str) -> None:
        """Makes `text` the whole live response so far."""

    def count(self, usage: Usage) -> None:
        """Adds the tokens of one completion to the run."""
