"""Who is asking: owners of agents, people, organizations, their keys, and what they used."""

import uuid

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.indexes import OpClass
from django.db import models, transaction
from django.db.models.functions import Lower, Now, Upper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from common.handles import validate_handle


class Owner(models.Model):
    """One name in the namespace that users and organizations share."""

    handle = models.CharField(max_length=50, unique=True, validators=[validate_handle])

    class Meta:
        verbose_name, verbose_name_plural = _("owner"), _("owners")
        constraints = [models.UniqueConstraint(Lower("handle"), name="one_owner_whatever_the_case")]

    def __str__(self) -> str:
        return self.handle


class User(AbstractUser):
    """A person. `username` is the handle of `owner`; saving a user keeps the two equal."""

    username = models.CharField(
        _("username"),
        max_length=50,
        unique=True,
        validators=[validate_handle],
        error_messages={"unique": _("That name is taken.")},
    )
    owner = models.OneToOneField(Owner, on_delete=models.PROTECT, related_name="user", editable=False)
    daily_query_limit = models.PositiveIntegerField(
        _("daily query limit"), default=1000, help_text=_("Queries a day (UTC).")
    )
    daily_token_limit = models.PositiveBigIntegerField(
        _("daily token limit"),
        null=True,
        blank=True,
        default=1_000_000,
        help_text=_("Tokens of language models a day (UTC); empty: no limit."),
    )
    credits = models.PositiveIntegerField(
        _("credits"),
        default=0,
        editable=False,
        help_text=_("Queries beyond the daily limit; the sum of the user's credit entries."),
    )

    class Meta(AbstractUser.Meta):
        permissions = [("sign_in_as", _("Can sign in as somebody else"))]
        # The admin finds people by the beginning of a name or an address, whatever the case.
        indexes = [
            models.Index(OpClass(Upper("username"), "text_pattern_ops"), name="people_by_username"),
            models.Index(OpClass(Upper("email"), "text_pattern_ops"), name="people_by_email"),
        ]

    def save(self, *args: object, **kwargs: object) -> None:
        if not self._state.adding and kwargs.get("update_fields") is None:
            # Credits may be granted and spent since this row was read: only those who do so write them.
            left_out = {"id", "credits", *self.get_deferred_fields()}
            kwargs["update_fields"] = [
                field.attname for field in self._meta.concrete_fields if field.attname not in left_out
            ]
        with transaction.atomic():
            if getattr(self, "owner_id", None) is None:
                self.owner = Owner.objects.create(handle=self.username)
            elif self.owner.handle != self.username:
                self.owner.handle = self.username
                self.owner.save(update_fields=["handle"])
            super().save(*args, **kwargs)  # type: ignore[arg-type]  # Django's own signature


class Organization(models.Model):
    """A group of people who own agents together; `owner.handle` is its handle."""

    owner = models.OneToOneField(Owner, on_delete=models.PROTECT, related_name="organization", verbose_name=_("owner"))
    name = models.CharField(_("name"), max_length=200)
    members = models.ManyToManyField(User, through="Membership", related_name="organizations")

    class Meta:
        verbose_name, verbose_name_plural = _("organization"), _("organizations")

    def __str__(self) -> str:
        return self.owner.handle


class Membership(models.Model):
    """A member registers, changes and deploys the organization's agents; an admin also deletes them, names the
    organization, and chooses its members and their roles."""

    class Role(models.TextChoices):
        MEMBER = "member", _("Member")
        ADMIN = "admin", _("Admin")

    organization = models.ForeignKey(Organization, on_delete=models.CASCADE)
    user = models.ForeignKey(User, on_delete=models.CASCADE, verbose_name=_("user"))
    role = models.CharField(_("role"), max_length=6, choices=Role, default=Role.MEMBER)

    class Meta:
        verbose_name, verbose_name_plural = _("membership"), _("memberships")
        constraints = [models.UniqueConstraint(fields=["organization", "user"], name="one_membership")]

    def __str__(self) -> str:
        return f"{self.organization}: {self.user}"


class SigningKey(models.Model):
    """An Ed25519 key of this site. `next` is published, `active` signs, `retired` only verifies."""

    class State(models.TextChoices):
        NEXT = "next", pgettext_lazy("signing key", "Next")
        ACTIVE = "active", _("Active")
        RETIRED = "retired", _("Retired")

    kid = models.CharField("kid", max_length=43, primary_key=True, help_text=_("RFC 7638 thumbprint."))
    private_key = models.BinaryField(help_text="PKCS 8, encrypted with a key made from SECRET_KEY.")
    public_key = models.BinaryField(help_text="32 raw bytes.")
    state = models.CharField(_("state"), max_length=7, choices=State)
    created = models.DateTimeField(_("created"), default=timezone.now)
    retired = models.DateTimeField(_("retired"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("signing key"), _("signing keys")
        constraints = [
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state="active"), name="one_active_signing_key"
            ),
            models.UniqueConstraint(fields=["state"], condition=models.Q(state="next"), name="one_next_signing_key"),
        ]

    def __str__(self) -> str:
        return f"{self.kid} ({self.get_state_display()})"


class ApiKey(models.Model):
    """A key a user made. The key itself is a JWT with this `jti`, shown once and not stored."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys", verbose_name=_("user"))
    jti = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    signing_key = models.ForeignKey(SigningKey, on_delete=models.PROTECT, editable=False, verbose_name=_("signing key"))
    name = models.CharField(_("name"), max_length=100)
    created = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    revoked = models.DateTimeField(_("revoked"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("API key"), _("API keys")

    def __str__(self) -> str:
        return self.name


class UsageDay(models.Model):
    """What one user asked on one day (UTC): of one agent, or in all where `agent` is null.

    Written only by the upserts of `sessions_app.charges` and `accounts.quotas`. `agent` is an id without a foreign
    key: this app knows no agents, and what was used stays used when an agent is deleted.
    """

    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="usage", db_constraint=False, verbose_name=_("user")
    )
    agent = models.BigIntegerField(null=True)
    day = models.DateField(_("day"))
    queries = models.PositiveIntegerField(_("queries"), default=0)
    prompt_tokens = models.PositiveBigIntegerField(_("prompt tokens"), default=0)
    completion_tokens = models.PositiveBigIntegerField(_("completion tokens"), default=0)

    class Meta:
        verbose_name, verbose_name_plural = _("usage day"), _("usage days")
        constraints = [
            models.UniqueConstraint(fields=["user", "day", "agent"], nulls_distinct=False, name="one_usage_row")
        ]
        indexes = [
            models.Index(fields=["agent", "day"], condition=models.Q(agent__isnull=False), name="usage_of_an_agent"),
            # Written once a user and day: what is counted is in no index.
            models.Index(fields=["day"], condition=models.Q(agent__isnull=True), name="usage_of_a_day"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.day}: {self.queries}"


class AgentUsage(models.Model):
    """What all users together asked on one day (UTC) of an agent that has a limit of its own, in `SLOTS` rows.

    One row would make all askers of a popular agent wait for each other's commits. Each slot holds its share of
    the agent's limit; the agent's total is the sum. Written only by the upserts of `sessions_app.charges` and
    `accounts.quotas`. `agent` is an id without a foreign key, as in `UsageDay`.
    """

    SLOTS = 16

    agent = models.BigIntegerField()
    day = models.DateField(_("day"))
    slot = models.PositiveSmallIntegerField(_("slot"))
    queries = models.PositiveIntegerField(_("queries"), default=0)
    tokens = models.PositiveBigIntegerField(_("tokens"), default=0)

    class Meta:
        verbose_name, verbose_name_plural = _("agent usage"), _("agent usages")
        constraints = [models.UniqueConstraint(fields=["agent", "day", "slot"], name="one_agent_usage_row")]

    def __str__(self) -> str:
        return f"{self.agent} {self.day} #{self.slot}: {self.queries}"


class AgentMinute(models.Model):
    """What all users together asked, in the minute that began at `began`, of an agent that has a limit a minute.

    One row an agent, written anew when its minute is over: whoever asks while another's question is committed waits,
    which so low a limit leaves time for. An unlogged table: a crash of the database begins the minute anew. Written
    only by `sessions_app.charges`. `agent` is an id without a foreign key, as in `UsageDay`.
    """

    agent = models.BigIntegerField(primary_key=True)
    began = models.DateTimeField()
    queries = models.PositiveIntegerField()

    class Meta:
        verbose_name, verbose_name_plural = _("agent minute"), _("agent minutes")

    def __str__(self) -> str:
        return f"{self.agent} from {self.began:%H:%M:%S}: {self.queries}"


class CreditEntry(models.Model):
    """One line of the ledger behind `User.credits`: granted by an administrator, or spent by a query.

    Lines are only ever added: a trigger refuses to change them, though the administrator behind one may be deleted.
    A user's credits are the sum of the lines' amounts, kept equal in the same transaction.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="credit_entries", verbose_name=_("user"))
    amount = models.IntegerField(
        _("amount"), help_text=_("Queries: more than 0 where granted, -1 where one was spent.")
    )
    reason = models.CharField(_("reason"), max_length=200)
    granted_by = models.ForeignKey(
        User,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("granted by"),
        help_text=_("Empty where spent."),
    )
    run = models.UUIDField(_("run"), null=True, blank=True, help_text=_("The run that spent it."))
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("credit entry"), _("credit entries")
        constraints = [models.CheckConstraint(condition=~models.Q(amount=0), name="credit_entry_changes_something")]
        indexes = [models.Index(fields=["user", "-created"], name="credit_entries_of_a_user")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.amount:+d}"


class DataExport(models.Model):
    """That somebody takes what the site keeps about them: one at a time, and a few a day."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="data_exports")
    started = models.DateTimeField(db_default=Now(), editable=False)
    finished = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("data export"), _("data exports")

    def __str__(self) -> str:
        return f"{self.user_id} {self.started}"


class AccountRemoval(models.Model):
    """That somebody's account is closed, and what the site keeps about them is being removed: it goes with the user."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="removal")
    requested = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("account removal"), _("account removals")

    def __str__(self) -> str:
        return f"{self.user_id} {self.requested}"
