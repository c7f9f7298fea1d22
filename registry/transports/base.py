"""How the platform speaks to an agent: the words every transport shares.

A transport is handed a deployment and answers calls. It knows no Django model, keeps no state between calls
that matters, and raises nothing but `common.errors.FixieError`: `AgentUnreachable`, `AgentTimeout`,
`AgentInvalidResponse`, `AgentFailed`.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class EmbedRef:
    """An attachment by reference, as it stands in a message: `{"content_type", "uri"}`."""

    content_type: str
    uri: str


@dataclass(frozen=True, slots=True)
class AgentMessage:
    """Text with attachments by key (`#1` in the text names the embed with key `1`)."""

    text: str
    embeds: Mapping[str, EmbedRef] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UrlCorpus:
    """Web pages to read: `urls`, where a trailing `*` stands for all below; without those that a wildcard excludes.

    `auth_token_func` names the agent's Func that says the bearer token to read them with; empty: they need none.
    """

    urls: tuple[str, ...]
    exclude_patterns: tuple[str, ...] = ()
    auth_token_func: str = ""


@dataclass(frozen=True, slots=True)
class FuncCorpus:
    """Documents that the agent itself hands out, by its corpus Func."""

    func: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an agent says of itself, normalised from JSON or YAML (Fixie Agent Protocol).

    `type` is `code_shot` or `standalone`. `model`, `temperature` and `max_tokens` are the agent's wishes
    for the language model; None leaves them to the site.
    """

    type: str
    base_prompt: str = ""
    few_shots: tuple[str, ...] = ()
    sample_queries: tuple[str, ...] = ()
    corpora: tuple[UrlCorpus | FuncCorpus, ...] = ()
    conversational: bool = False
    model: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where an agent runs: `target` is a URL, or the name of an internal agent."""

    target: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call to an agent in the name of a user.

    `func` names the Func; None means the query itself. `token` is the bearer token for this call alone.
    `idempotency_key` is the same when the platform has to make the same call again. `timeout` is the whole
    call's, in seconds.
    """

    message: AgentMessage
    token: str
    idempotency_key: str
    func: str | None = None
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class TextSoFar:
    """The whole text of the reply as it stands now."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The finished reply; always the last event, exactly once."""

    message: AgentMessage


Event = TextDelta | TextSoFar | Reply


class Transport(ABC):
    """One protocol. Instances are shared by all runs of a process."""

    kind: ClassVar[str]

    @abstractmethod
    def send(self, deployment: Deployment, call: Call) -> AsyncGenerator[Event]:
        """Makes the call and yields its events as they arrive, `Reply` last.

        Closing the iterator (or cancelling its task) closes the call to the agent at once.
        """

    async def aclose(self) -> None:
        """Lets go of pooled connections and processes."""
        return


async def reply_of(transport: Transport, deployment: Deployment, call: Call) -> AgentMessage:
    """Makes a call whose intermediate events do not matter, and returns its reply."""
    message = AgentMessage("")
    async for event in transport.send(deployment, call):
        if isinstance(event, Reply):
            message = event.message
    return message
