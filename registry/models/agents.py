"""Which agents there are, and where and how each of them runs."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q, TextField, Value
from django.db.models.functions import Coalesce, Lower, NullIf
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Membership, Owner, User
from common.handles import validate_handle

# By this they are in order where people read them; it is the handle where there is no name.
BY_NAME = Lower(Coalesce(NullIf("name", Value("")), F("handle")), output_field=TextField())


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

    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="agents", verbose_name=_("owner"))
    handle = models.CharField(_("handle"), max_length=50, validators=[validate_handle])
    name = models.CharField(_("name"), max_length=200, blank=True)
    description = models.TextField(_("description"), blank=True)
    more_info_url = models.URLField(_("more info URL"), max_length=2000, blank=True)
    published = models.BooleanField(_("published"), default=False)
    enabled = models.BooleanField(
        _("enabled"), default=True, help_text=_("Nobody can ask an agent that is switched off.")
    )
    protocol = models.CharField(
        _("protocol"),
        max_length=20,
        blank=True,
        default="",
        help_text=_("What it speaks, where its owner says so; empty: what it says itself."),
    )
    daily_query_limit = models.PositiveIntegerField(
        _("daily query limit"),
        null=True,
        blank=True,
        help_text=_("Queries a day (UTC) of all users together; empty: no limit."),
    )
    minute_query_limit = models.PositiveIntegerField(
        _("query limit a minute"),
        null=True,
        blank=True,
        help_text=_("Queries a minute of all users together; empty: no limit."),
    )
    daily_token_limit = models.PositiveBigIntegerField(
        _("daily token limit"),
        null=True,
        blank=True,
        help_text=_("Tokens of language models a day (UTC) of all users; empty: no limit."),
    )
    capabilities = ArrayField(
        models.CharField(max_length=100),
        verbose_name=_("capabilities"),
        default=list,
        blank=True,
        help_text=_("Types of tasks that it takes, as `agents.toml` names them."),
    )
    priority = models.IntegerField(
        _("priority"), default=0, help_text=_("Among agents with the same capability the highest is asked.")
    )
    queries = models.JSONField(
        _("queries"), default=list, blank=True, help_text=_("What it can be asked, as given at registration.")
    )
    current_revision = models.ForeignKey(
        "Revision",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("current revision"),
    )
    created = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    modified = models.DateTimeField(_("modified"), auto_now=True)

    objects = AgentQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("agent"), _("agents")
        constraints = [models.UniqueConstraint(fields=["owner", "handle"], name="one_handle_an_owner")]
        indexes = [models.Index(BY_NAME, F("id"), name="agents_by_name")]

    def __str__(self) -> str:
        return self.agent_id

    @property
    def agent_id(self) -> str:
        """`owner/handle`; load agents with `select_related("owner")`."""
        return f"{self.owner.handle}/{self.handle}"


class Revision(models.Model):
    """One deployment of an agent. Immutable but for its state, its error and a manifest it lacked."""

    class State(models.TextChoices):
        READY = "ready", _("Ready")
        ERROR = "error", _("Error")

    class Deployment(models.TextChoices):
        EXTERNAL = "external", _("external: at a URL")
        INTERNAL = "internal", _("internal: a Python callable of this platform")
        COMMAND = "command", _("command: a program on this machine")

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="revisions", verbose_name=_("agent"))
    deployment = models.CharField(_("deployment"), max_length=8, choices=Deployment, default=Deployment.EXTERNAL)
    target = models.CharField(
        _("target"), max_length=2000, help_text=_("The URL, the program, or the internal agent's name.")
    )
    transport = models.CharField(
        _("transport"), max_length=20, blank=True, help_text=_("Known once the manifest is read.")
    )
    options = models.JSONField(
        _("options"), default=dict, blank=True, help_text=_("How its transport runs it, beside the target.")
    )
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    manifest = models.JSONField(_("manifest"), null=True, blank=True)
    state = models.CharField(_("state"), max_length=5, choices=State)
    error = models.TextField(_("error"), blank=True, help_text=_("Why the manifest could not be used."))
    created = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("created by"),
    )

    class Meta:
        verbose_name, verbose_name_plural = _("revision"), _("revisions")
        permissions = [("set_command", _("Can say which programs this machine runs for agents"))]

    def __str__(self) -> str:
        return _("revision %(number)s") % {"number": self.pk}
