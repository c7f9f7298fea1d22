from django.conf import settings
from django.db import migrations, models
from django.db.migrations import AlterField, AlterModelOptions
from django.db.models.functions import Now
from django.utils import timezone

from common.handles import validate_handle


class Migration(migrations.Migration):
    """What the admin calls models and fields. Changes nothing in the database."""

    dependencies = [("accounts", "0010_people_and_audit")]

    operations = [
        AlterModelOptions(
            "accountremoval", {"verbose_name": "account removal", "verbose_name_plural": "account removals"}
        ),
        AlterModelOptions("agentminute", {"verbose_name": "agent minute", "verbose_name_plural": "agent minutes"}),
        AlterModelOptions("agentusage", {"verbose_name": "agent usage", "verbose_name_plural": "agent usages"}),
        AlterModelOptions("apikey", {"verbose_name": "API key", "verbose_name_plural": "API keys"}),
        AlterModelOptions("creditentry", {"verbose_name": "credit entry", "verbose_name_plural": "credit entries"}),
        AlterModelOptions("dataexport", {"verbose_name": "data export", "verbose_name_plural": "data exports"}),
        AlterModelOptions("membership", {"verbose_name": "membership", "verbose_name_plural": "memberships"}),
        AlterModelOptions("organization", {"verbose_name": "organization", "verbose_name_plural": "organizations"}),
        AlterModelOptions("owner", {"verbose_name": "owner", "verbose_name_plural": "owners"}),
        AlterModelOptions("signingkey", {"verbose_name": "signing key", "verbose_name_plural": "signing keys"}),
        AlterModelOptions("usageday", {"verbose_name": "usage day", "verbose_name_plural": "usage days"}),
        AlterField("agentusage", "day", models.DateField(verbose_name="day")),
        AlterField("agentusage", "queries", models.PositiveIntegerField(default=0, verbose_name="queries")),
        AlterField("agentusage", "slot", models.PositiveSmallIntegerField(verbose_name="slot")),
        AlterField("agentusage", "tokens", models.PositiveBigIntegerField(default=0, verbose_name="tokens")),
        AlterField(
            "apikey", "created", models.DateTimeField(default=timezone.now, editable=False, verbose_name="created")
        ),
        AlterField(
            "apikey", "last_used", models.DateTimeField(blank=True, editable=False, null=True, verbose_name="last used")
        ),
        AlterField("apikey", "name", models.CharField(max_length=100, verbose_name="name")),
        AlterField("apikey", "revoked", models.DateTimeField(blank=True, null=True, verbose_name="revoked")),
        AlterField(
            "apikey",
            "signing_key",
            models.ForeignKey(
                editable=False, on_delete=models.PROTECT, to="accounts.signingkey", verbose_name="signing key"
            ),
        ),
        AlterField(
            "apikey",
            "user",
            models.ForeignKey(
                on_delete=models.CASCADE, related_name="api_keys", to=settings.AUTH_USER_MODEL, verbose_name="user"
            ),
        ),
        AlterField(
            "creditentry",
            "amount",
            models.IntegerField(
                help_text="Queries: more than 0 where granted, -1 where one was spent.", verbose_name="amount"
            ),
        ),
        AlterField(
            "creditentry", "created", models.DateTimeField(db_default=Now(), editable=False, verbose_name="created")
        ),
        AlterField(
            "creditentry",
            "granted_by",
            models.ForeignKey(
                blank=True,
                help_text="Empty where spent.",
                null=True,
                on_delete=models.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="granted by",
            ),
        ),
        AlterField("creditentry", "reason", models.CharField(max_length=200, verbose_name="reason")),
        AlterField(
            "creditentry",
            "run",
            models.UUIDField(blank=True, help_text="The run that spent it.", null=True, verbose_name="run"),
        ),
        AlterField(
            "creditentry",
            "user",
            models.ForeignKey(
                on_delete=models.CASCADE,
                related_name="credit_entries",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
        AlterField(
            "membership",
            "role",
            models.CharField(
                choices=[("member", "Member"), ("admin", "Admin")], default="member", max_length=6, verbose_name="role"
            ),
        ),
        AlterField(
            "membership",
            "user",
            models.ForeignKey(on_delete=models.CASCADE, to=settings.AUTH_USER_MODEL, verbose_name="user"),
        ),
        AlterField("organization", "name", models.CharField(max_length=200, verbose_name="name")),
        AlterField(
            "organization",
            "owner",
            models.OneToOneField(
                on_delete=models.PROTECT, related_name="organization", to="accounts.owner", verbose_name="owner"
            ),
        ),
        AlterField("signingkey", "created", models.DateTimeField(default=timezone.now, verbose_name="created")),
        AlterField(
            "signingkey",
            "kid",
            models.CharField(
                help_text="RFC 7638 thumbprint.", max_length=43, primary_key=True, serialize=False, verbose_name="kid"
            ),
        ),
        AlterField("signingkey", "retired", models.DateTimeField(blank=True, null=True, verbose_name="retired")),
        AlterField(
            "signingkey",
            "state",
            models.CharField(
                choices=[("next", "Next"), ("active", "Active"), ("retired", "Retired")],
                max_length=7,
                verbose_name="state",
            ),
        ),
        AlterField(
            "usageday", "completion_tokens", models.PositiveBigIntegerField(default=0, verbose_name="completion tokens")
        ),
        AlterField("usageday", "day", models.DateField(verbose_name="day")),
        AlterField(
            "usageday", "prompt_tokens", models.PositiveBigIntegerField(default=0, verbose_name="prompt tokens")
        ),
        AlterField("usageday", "queries", models.PositiveIntegerField(default=0, verbose_name="queries")),
        AlterField(
            "usageday",
            "user",
            models.ForeignKey(
                db_constraint=False,
                on_delete=models.CASCADE,
                related_name="usage",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
        AlterField(
            "user",
            "credits",
            models.PositiveIntegerField(
                default=0,
                editable=False,
                help_text="Queries beyond the daily limit; the sum of the user's credit entries.",
                verbose_name="credits",
            ),
        ),
        AlterField(
            "user",
            "daily_query_limit",
            models.PositiveIntegerField(
                default=1000, help_text="Queries a day (UTC).", verbose_name="daily query limit"
            ),
        ),
        AlterField(
            "user",
            "daily_token_limit",
            models.PositiveBigIntegerField(
                blank=True,
                default=1000000,
                help_text="Tokens of language models a day (UTC); empty: no limit.",
                null=True,
                verbose_name="daily token limit",
            ),
        ),
        AlterField(
            "user",
            "username",
            models.CharField(
                error_messages={"unique": "That name is taken."},
                max_length=50,
                unique=True,
                validators=[validate_handle],
                verbose_name="username",
            ),
        ),
    ]
