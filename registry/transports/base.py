"""How the platform speaks to an agent: the words every transport shares.

A transport is handed a deployment and answers calls. It knows no Django model, keeps no state between calls
that matters, and raises nothing but `common.errors.FixieError`: `AgentUnreachable`, `AgentTimeout`,
`AgentInvalidResponse`, `AgentFailed`.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


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
    """Where an agent runs: `target` is a URL, the name of an internal agent, or a program.

    `options` are its transport's own (`Revision.options`). `revision` is the primary key of what is deployed, 0 where
    it is none yet: processes of one belong together.
    """

    target: str
    options: Mapping[str, Any] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier query of the session and its answer."""

    query: str
    answer: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call to an agent in the name of a user.

    `func` names the Func; None means the query itself. `token` is the bearer token for this call alone.
    `idempotency_key` is the same when the platform has to make the same call again. `timeout` is the whole
    call's, in seconds. `session` is the handle of the session, `user` the id of who asks; both are empty where nobody
    does. `history` is what was said before, oldest first, for transports that want it (`Transport.wants_history`);
    `context` is what the agent's last reply in the session left (`Transport.keeps_context`).
    """

    message: AgentMessage
    token: str
    idempotency_key: str
    func: str | None = None
    timeout: float = 60.0
    session: str = ""
    user: str = ""
    history: Sequence[Exchange] = ()
    context: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The next piece of the reply's text."""

    text: str


@dataclass(frozen=True, slots=True)
class TextSoFar:
    """The whole text of the reply as it stands now."""

    text: str


@dataclass(frozen=True, slots=True)
class StepTaken:
    """Something that the agent did on the way, kept in the transcript.

    `kind` is `thought`, `func_call` or `func_output`; `name` the Func's (a tool's), empty for a thought; `text` what
    was thought, handed over or given back. `embeds` are those that `text` names.
    """

    kind: str
    text: str
    name: str = ""
    embeds: Mapping[str, EmbedRef] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the agent says it is: `percent` is 0 to 100, None where it does not say; `text` what it is doing."""

    percent: float | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class TokensUsed:
    """Tokens of language models that the agent says it has used, since it was last said."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class LimitsLeft:
    """What the agent says is left of its own limits; None where it does not say."""

    remaining_minute: int | None
    remaining_today: int | None


@dataclass(frozen=True, slots=True)
class Reply:
    """The finished reply; always the last event, exactly once.

    `context` is to be handed back with the next call in the session; None leaves what there was.
    """

    message: AgentMessage
    context: Mapping[str, Any] | None = None


Event = TextDelta | TextSoFar | StepTaken | Progress | TokensUsed | LimitsLeft | Reply


class Transport(ABC):
    """One protocol. Instances are shared by all runs of a process."""

    kind: ClassVar[str]
    # Whether calls are to bring `history`, and `context`.
    wants_history: ClassVar[bool] = False
    keeps_context: ClassVar[bool] = False

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
