"""Which agents there are, and where and how each of them runs."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Membership, Owner, User
from common.handles import validate_handle
from registry.models.words import AGENT_WORDS


class AgentQuerySet(models.QuerySet["Agent"]):
    def owned_by(self, user: User) -> "AgentQuerySet":
        """Agents of `user` and of the organizations they are a member of."""
        return self.filter(Q(owner=user.owner_id) | Q(owner__organization__in=user.organizations.values("id")))

    def deletable_by(self, user: User) -> "AgentQuerySet":
        """Agents of `user` and of the organizations they are an admin of."""
        ruled = user.membership_set.filter(role=Membership.Role.ADMIN).values("organization")
        return self.filter(Q(owner=user.owner_id) | Q(owner__organization__in=ruled))

    def visible_to(self, user: User | None) -> "AgentQuerySet":
        """Published agents, and the user's own."""
        if user is None:
            return self.filter(published=True)
        return self.filter(
            Q(published=True) | Q(owner=user.owner_id) | Q(owner__organization__in=user.organizations.values("id"))
        )

    def in_order(self, *, after: str) -> "AgentQuerySet":
        """By `owner/handle`; those after the one with the id `after`, where that is not empty."""
        owner, _, handle = after.partition("/")
        later = Q(owner__handle__gt=owner) | Q(owner__handle=owner, handle__gt=handle) if after else Q()
        return self.filter(later).order_by("owner__handle", "handle")


class Agent(models.Model):
    """A named capability: `owner/handle`."""

    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="agents")
    handle = models.CharField(max_length=50, validators=[validate_handle])
    name = models.CharField(max_length=200, blank=True)
    description = models.TextField(blank=True)
    more_info_url = models.URLField(max_length=2000, blank=True)
    published = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True, help_text="Nobody can ask an agent that is switched off.")
    protocol = models.CharField(
        max_length=20,
        blank=True,
        default="",
        help_text="What it speaks, where its owner says so; empty: what it says itself.",
    )
    daily_query_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Queries a day (UTC) of all users together; empty: no limit."
    )
    minute_query_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text="Queries a minute of all users together; empty: no limit."
    )
    daily_token_limit = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Tokens of language models a day (UTC) of all users; empty: no limit."
    )
    capabilities = ArrayField(
        models.CharField(max_length=100),
        default=list,
        blank=True,
        help_text="Types of tasks that it takes, as `agents.toml` names them.",
    )
    priority = models.IntegerField(default=0, help_text="Among agents with the same capability the highest is asked.")
    queries = models.JSONField(default=list, blank=True, help_text="What it can be asked, as given at registration.")
    current_revision = models.ForeignKey("Revision", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created = models.DateTimeField(default=timezone.now, editable=False)
    modified = models.DateTimeField(auto_now=True)

    objects = AgentQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "handle"], name="one_handle_an_owner")]
        indexes = [GinIndex(AGENT_WORDS, name="words_of_agents")]

    def __str__(self) -> str:
        return self.agent_id

    @property
    def agent_id(self) -> str:
        """`owner/handle`; load agents with `select_related("owner")`."""
        return f"{self.owner.handle}/{self.handle}"


class Revision(models.Model):
    """One deployment of an agent. Immutable but for its state, its error and a manifest it lacked."""

    class State(models.TextChoices):
        READY = "ready"
        ERROR = "error"

    class Deployment(models.TextChoices):
        EXTERNAL = "external", "external: at a URL"
        INTERNAL = "internal", "internal: a Python callable of this platform"
        COMMAND = "command", "command: a program on this machine"

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="revisions")
    deployment = models.CharField(max_length=8, choices=Deployment, default=Deployment.EXTERNAL)
    target = models.CharField(max_length=2000, help_text="The URL, the program, or the internal agent's name.")
    transport = models.CharField(max_length=20, blank=True, help_text="Known once the manifest is read.")
    options = models.JSONField(default=dict, blank=True, help_text="How its transport runs it, beside the target.")
    metadata = models.JSONField(default=dict, blank=True)
    manifest = models.JSONField(null=True, blank=True)
    state = models.CharField(max_length=5, choices=State)
    error = models.TextField(blank=True, help_text="Why the manifest could not be used.")
    created = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        permissions = [("set_command", "Can say which programs this machine runs for agents")]

    def __str__(self) -> str:
        return f"revision {self.pk}"
