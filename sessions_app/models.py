"""Conversations and the runs that answer them. Rows are written by `store.py` on the hot path."""

from collections.abc import Collection
from typing import Any, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex, GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from embeds.models import Embed
from registry.models import Agent


def agent_key(**options: Any) -> "models.ForeignKey[Agent | None]":
    """A reference to an agent, null once it is deleted.

    Without a constraint in the database: checking one locks the agent's row for every query that it answers,
    which makes all askers of a popular agent write to one place.
    """
    options = {"null": True, "blank": True, "db_constraint": False, "verbose_name": _("agent"), **options}
    return models.ForeignKey(Agent, on_delete=models.SET_NULL, **options)


Rows = TypeVar("Rows", bound="models.QuerySet[Any]")


def naming_agents(rows: Rows) -> Rows:
    """`rows` with their agents and these agents' owners, without these agents' long texts: one may have many rows."""
    return rows.select_related("agent__owner").defer("agent__queries", "agent__description")


class SessionQuerySet(models.QuerySet["Session"]):
    def visible_to(self, user: User) -> "SessionQuerySet":
        return self.filter(owner=user, deleted=None)

    def newest_first(self, *, after: str | None) -> "SessionQuerySet":
        """In the order of lists; those after the session with the handle `after`, where there is one."""
        place = self.filter(handle=after.replace("\0", "")).first() if after else None
        older = Q(created__lt=place.created) | Q(created=place.created, pk__lt=place.pk) if place else Q()
        return self.filter(older).order_by("-created", "-pk")


class Session(models.Model):
    """One conversation.

    `runs` is the queue of unfinished runs: the first executes, the others wait. It lives in this row, so
    that accepting, finishing and cancelling agree under the row's lock alone.
    """

    handle = models.CharField(_("handle"), max_length=100)
    owner = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="sessions", db_index=False, verbose_name=_("owner")
    )
    agent = agent_key(help_text="The front agent.")
    name = models.CharField(max_length=200, blank=True, db_default="", help_text="What its owner calls it.")
    title = models.CharField(max_length=200, blank=True, db_default="", help_text="What a language model calls it.")
    description = models.TextField(blank=True, db_default="")
    last_seq = models.PositiveIntegerField(db_default=0)
    runs = ArrayField(models.UUIDField(), db_default=[], blank=True)
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    # No index has it: every query writes it, and a user's own sessions are soon sorted.
    active = models.DateTimeField(_("last asked"), db_default=Now(), editable=False)
    pinned = models.BooleanField(db_default=False)
    archived = models.BooleanField(db_default=False)
    deleted = models.DateTimeField(
        null=True, blank=True, help_text="When its owner deleted it on a page; for a while it can be restored."
    )
    branched_from = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="branches", db_index=False
    )
    branch_seq = models.PositiveIntegerField(
        null=True, blank=True, help_text="`seq` of the query of `branched_from` that is another one here."
    )
    searched_seq = models.PositiveIntegerField(
        db_default=0, editable=False, help_text="Messages up to this one can be searched for."
    )

    objects = SessionQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("session"), _("sessions")
        # Not `unique=True`, which would add a second index for LIKE.
        constraints = [models.UniqueConstraint(fields=["handle"], name="one_session_a_handle")]
        indexes = [
            models.Index(fields=["owner", "-created"], name="sessions_of_a_user"),
            models.Index(
                fields=["branched_from"], condition=Q(branched_from__isnull=False), name="branches_of_a_session"
            ),
            models.Index(fields=["deleted"], condition=Q(deleted__isnull=False), name="deleted_sessions"),
            models.Index(fields=["id"], condition=Q(archived=True), name="archived_sessions"),
            BrinIndex(fields=["created"], autosummarize=True, name="sessions_by_time"),
        ]
        permissions = [("read_content", _("Can read what people and agents write in sessions"))]

    def __str__(self) -> str:
        return self.handle


class Run(models.Model):
    """The work of answering one query. Whoever holds the current `epoch` may write.

    A run has a `parent` where an agent asks: then its query is an `agent_call` message, its answer an
    `agent_output`, and it executes beside its parent instead of waiting in the session's queue.
    """

    class Status(models.TextChoices):
        """The run states of the Agent API protocol that a run can be in."""

        QUEUED = "queued", _("Queued")
        IN_PROGRESS = "in_progress", _("In progress")
        COMPLETED = "completed", _("Completed")
        FAILED = "failed", _("Failed")
        CANCELED = "canceled", _("Canceled")

    id = models.UUIDField(primary_key=True, help_text="UUID version 7.")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="all_runs", db_index=False)
    agent = agent_key()
    query_seq = models.PositiveIntegerField(help_text="`seq` of the query in its session.")
    status = models.CharField(max_length=11, choices=Status)
    epoch = models.PositiveIntegerField(_("epoch"), db_default=1)
    step = models.PositiveIntegerField(_("step"), db_default=0, help_text=_("Steps appended so far."))
    process = models.UUIDField(_("process"), null=True, blank=True, help_text=_("The process that executes it."))
    heartbeat = models.DateTimeField(null=True, blank=True)
    cancel_requested = models.BooleanField(_("cancel requested"), db_default=False)
    # A tree of runs goes with its session; it needs no constraints of its own.
    parent = models.ForeignKey(
        "self",
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="children",
        db_index=False,
        db_constraint=False,
    )
    root = models.ForeignKey(
        "self",
        on_delete=models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="descendants",
        db_index=False,
        db_constraint=False,
        help_text="The run at the top, which a person asked for; null for itself.",
    )
    parent_step = models.PositiveIntegerField(
        null=True, blank=True, help_text="The step of the parent that asks; null where the agent's own program asked."
    )
    chain = ArrayField(
        models.CharField(max_length=101), db_default=[], blank=True, help_text="The agents above, from the top."
    )
    agent_calls = models.PositiveIntegerField(db_default=0, help_text="Runs below this top run so far.")
    error_code = models.CharField(_("error code"), max_length=40, blank=True, db_default="")
    prompt_tokens = models.PositiveIntegerField(db_default=0)
    completion_tokens = models.PositiveIntegerField(db_default=0)
    copied = models.BooleanField(
        db_default=False, editable=False, help_text="It did its work in the session that this one branched from."
    )
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("run"), _("runs")
        indexes = [
            models.Index(fields=["session", "query_seq"], name="runs_of_a_session"),
            # Recovery and heartbeats look only at unfinished runs, of which there are few.
            models.Index(fields=["id"], condition=Q(status__in=["queued", "in_progress"]), name="unfinished_runs"),
            models.Index(fields=["root"], condition=Q(root__isnull=False), name="runs_below_a_run"),
            # What administrators see: the newest of all (ids are not in the order of time, for a client may choose
            # one), and those that broke off. The first costs a run 1 % more log, the others only such an ending.
            models.Index(fields=["created"], name="runs_by_time"),
            models.Index(
                fields=["created"],
                include=["status", "error_code"],
                condition=Q(status__in=["failed", "canceled"], copied=False),
                name="runs_that_broke_off",
            ),
            models.Index(fields=["error_code", "created"], condition=~Q(error_code=""), name="runs_by_error"),
        ]

    def __str__(self) -> str:
        return str(self.id)


class Message(models.Model):
    """One entry of a session. Sent by `agent`, or by the session's owner where that is null."""

    class Kind(models.TextChoices):
        QUERY = "query", _("Query")
        RESPONSE = "response", _("Response")
        THOUGHT = "thought", _("Thought")
        FUNC_CALL = "func_call", _("Func call")
        FUNC_OUTPUT = "func_output", _("Func output")
        AGENT_CALL = "agent_call", _("Agent call")
        AGENT_OUTPUT = "agent_output", _("Agent output")
        ERROR = "error", _("Error")

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="messages", db_index=False)
    seq = models.PositiveIntegerField()
    # A run and its messages go with their session, by whose index both are found; this needs none of its own.
    run = models.ForeignKey(
        Run, on_delete=models.DO_NOTHING, related_name="messages", db_index=False, db_constraint=False
    )
    kind = models.CharField(max_length=12, choices=Kind)
    text = models.TextField()
    agent = agent_key()
    embed_keys = ArrayField(
        models.PositiveIntegerField(), db_default=[], blank=True, help_text="Keys of its embeds in the session."
    )
    in_reply_to = models.PositiveIntegerField(null=True, blank=True, help_text="`seq` of the query.")
    created = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("message"), _("messages")
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="one_seq_a_session")]

    def __str__(self) -> str:
        return f"{self.session_id}#{self.seq}"


class AgentContext(models.Model):
    """What an agent wants to be given with its next call in the session (the `context` of JSON-RPC agents)."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="contexts", db_index=False)
    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="+", verbose_name=_("agent"))
    context = models.JSONField(default=dict)
    modified = models.DateTimeField(_("modified"), auto_now=True)

    class Meta:
        verbose_name, verbose_name_plural = _("agent context"), _("agent contexts")
        constraints = [models.UniqueConstraint(fields=["session", "agent"], name="one_context_an_agent")]

    def __str__(self) -> str:
        return f"{self.agent_id} in {self.session_id}"


class SessionEmbedQuerySet(models.QuerySet["SessionEmbed"]):
    def of(self, session_id: int, keys: Collection[int]) -> "SessionEmbedQuerySet":
        return self.filter(session=session_id, key__in=keys)


class SessionEmbed(models.Model):
    """An embed of a session under the key that `#KEY` names in its messages.

    Keys count 1, 2, 3 … in the session, whatever an agent calls its embeds, so that a key means one thing in
    the whole conversation. Messages list theirs in `embed_keys`.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="embeds", db_index=False)
    key = models.PositiveIntegerField()
    embed = models.ForeignKey(Embed, on_delete=models.PROTECT, related_name="+")

    objects = SessionEmbedQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("attachment"), _("attachments")
        constraints = [models.UniqueConstraint(fields=["session", "key"], name="one_embed_a_key")]

    def __str__(self) -> str:
        return f"{self.session_id}#{self.key}"


class SharedLink(models.Model):
    """Whoever has the link reads the session's messages up to `last_seq`, until it is revoked."""

    token = models.CharField(max_length=43, unique=True, editable=False, help_text="256 random bits, URL-safe.")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="links", verbose_name=_("session"))
    last_seq = models.PositiveIntegerField(_("up to message"))
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    revoked = models.DateTimeField(_("revoked"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("shared link"), _("shared links")

    def __str__(self) -> str:
        return f"{self.session_id}: 1-{self.last_seq}"


class SearchEntry(models.Model):
    """A query or a response as searches find it. Made by `search.py`, not on the hot path.

    `words` hold a lexeme for the session's owner too, so that one index finds a user's own messages.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="+", db_index=False)
    seq = models.PositiveIntegerField()
    words = SearchVectorField()

    class Meta:
        verbose_name, verbose_name_plural = _("search entry"), _("search entries")
        constraints = [models.UniqueConstraint(fields=["session", "seq"], name="one_search_entry_a_message")]
        indexes = [GinIndex(fields=["words"], name="words_of_messages")]

    def __str__(self) -> str:
        return f"{self.session_id}#{self.seq}"
