"""The shapes of the REST API of sessions and runs."""

from datetime import datetime
from typing import Any, Literal

from ninja import Field, Schema

from embeds.schemas import EmbedOut

SEQ_MAX = 2**31 - 1


class EmbedIn(Schema):
    """An embed of a message: one uploaded before, by `id`; or a `uri` (http, https, data:) and its `content_type`."""

    id: str | None = None
    content_type: str | None = None
    uri: str | None = None


class MessageIn(Schema):
    text: str
    embeds: dict[str, EmbedIn] = Field(default_factory=dict, description="By key: `#1` in the text names the key `1`.")


class AskIn(Schema):
    """A question to one agent. Without `session` a new one is made."""

    session: str | None = Field(None, max_length=100)
    message: MessageIn
    stream: bool = False
    if_busy: Literal["enqueue", "reject", "interrupt"] = "enqueue"


class EmbedRefOut(Schema):
    content_type: str
    uri: str


class AnswerMessage(Schema):
    text: str
    embeds: dict[str, EmbedRefOut]


class AnswerOut(Schema):
    session: str
    run: str
    type: str
    message: AnswerMessage


class SessionIn(Schema):
    agent: str | None = Field(None, max_length=101, description="owner/handle of the front agent")
    name: str = Field("", max_length=200)
    description: str = Field("", max_length=10_000)


class SessionOut(Schema):
    handle: str
    name: str
    description: str
    agent: str | None
    last_seq: int
    created: datetime
    runs: list[str] = Field(description="Unfinished runs: the first is at work, the others wait.")


class SessionPage(Schema):
    after: str | None = Field(None, max_length=100, description="The `next` of the page before.")
    limit: int = Field(50, ge=1, le=200)


class SessionList(Schema):
    items: list[SessionOut]
    next: str | None = Field(None, description="Pass as `after` for the next page.")


class Since(Schema):
    since: int = Field(0, ge=0, le=SEQ_MAX)


class MessagePage(Since):
    before: int | None = Field(None, ge=1, le=SEQ_MAX)
    limit: int = Field(200, ge=1, le=500)


class MessageEmbed(EmbedRefOut):
    """`uri` is a signed address that needs no key, and expires."""

    id: str
    name: str = Field(description="What the file is called; empty where nobody said.")
    size: int = Field(description="Bytes.")


class SessionEmbedOut(EmbedOut):
    key: int
    owner: str = Field(description="The user whose embed it is.")


class SessionEmbedList(Schema):
    items: list[SessionEmbedOut]


class MessageOut(Schema):
    seq: int
    kind: str
    text: str
    run: str
    agent: str | None
    in_reply_to: int | None
    created: datetime
    embeds: dict[str, MessageEmbed] = Field(description="By key in the session.")


class RunOut(Schema):
    run: str
    status: str
    query: int = Field(description="`seq` of the message it answers.")
    agent: str | None
    parent: str | None = Field(description="The run that asks, where an agent asks another.")
    error: dict[str, Any] | None = Field(description="`code` and `retryable` of a run that failed or was stopped.")
    created: datetime | None
    started: datetime | None
    finished: datetime | None
    tokens: int | None = Field(description="Tokens that it used; null where that is not known.")


class MessageList(Schema):
    items: list[MessageOut]
    runs: list[RunOut] = Field(description="The runs that these messages belong to.")
    last_seq: int


class PostIn(MessageIn):
    if_busy: Literal["enqueue", "reject", "interrupt"] = "enqueue"
    client_id: str | None = Field(None, max_length=200)


class BeginIn(MessageIn):
    """The first question of a new session. Without an `agent` the site's own finds one for each question."""

    agent: str | None = Field(None, max_length=101, description="owner/handle of the front agent")
    client_id: str | None = Field(None, max_length=200)


class AskAgainIn(Schema):
    agent: str = Field(max_length=101, description="owner/handle")
    client_id: str | None = Field(None, max_length=200)


class PostedOut(Schema):
    session: str
    run: str
    seq: int
    status: str = Field(description="`in_progress` or `queued`; any state where the client_id was posted before.")


class StoppedOut(Schema):
    run: str
    agent: str | None
    acknowledged: bool = Field(description="Whether it has ended within a second.")


class CanceledOut(Schema):
    run: str
    session: str
    status: str = Field(description="The run's state when the request arrived.")
    runs: list[StoppedOut] = Field(description="What this call has stopped: the run, then those below it.")
