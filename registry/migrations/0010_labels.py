from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.migrations import AlterField, AlterModelOptions
from django.db.models.functions import Now
from django.utils import timezone

from common.handles import validate_handle


class Migration(migrations.Migration):
    """What the admin calls models and fields. Changes nothing in the database."""

    dependencies = [
        ("accounts", "0011_labels"),
        ("registry", "0009_words"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AlterModelOptions("agent", {"verbose_name": "agent", "verbose_name_plural": "agents"}),
        AlterModelOptions("agentlog", {"verbose_name": "agent log", "verbose_name_plural": "agent logs"}),
        AlterModelOptions("liveness", {"verbose_name": "liveness", "verbose_name_plural": "liveness"}),
        AlterModelOptions(
            "reportedlimits", {"verbose_name": "reported limits", "verbose_name_plural": "reported limits"}
        ),
        AlterModelOptions(
            "revision",
            {
                "permissions": [("set_command", "Can say which programs this machine runs for agents")],
                "verbose_name": "revision",
                "verbose_name_plural": "revisions",
            },
        ),
        AlterField(
            "agent",
            "capabilities",
            ArrayField(
                base_field=models.CharField(max_length=100),
                blank=True,
                default=list,
                help_text="Types of tasks that it takes, as `agents.toml` names them.",
                size=None,
                verbose_name="capabilities",
            ),
        ),
        AlterField(
            "agent", "created", models.DateTimeField(default=timezone.now, editable=False, verbose_name="created")
        ),
        AlterField(
            "agent",
            "current_revision",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.SET_NULL,
                related_name="+",
                to="registry.revision",
                verbose_name="current revision",
            ),
        ),
        AlterField(
            "agent",
            "daily_query_limit",
            models.PositiveIntegerField(
                blank=True,
                help_text="Queries a day (UTC) of all users together; empty: no limit.",
                null=True,
                verbose_name="daily query limit",
            ),
        ),
        AlterField(
            "agent",
            "daily_token_limit",
            models.PositiveBigIntegerField(
                blank=True,
                help_text="Tokens of language models a day (UTC) of all users; empty: no limit.",
                null=True,
                verbose_name="daily token limit",
            ),
        ),
        AlterField("agent", "description", models.TextField(blank=True, verbose_name="description")),
        AlterField(
            "agent",
            "enabled",
            models.BooleanField(
                default=True, help_text="Nobody can ask an agent that is switched off.", verbose_name="enabled"
            ),
        ),
        AlterField(
            "agent", "handle", models.CharField(max_length=50, validators=[validate_handle], verbose_name="handle")
        ),
        AlterField(
            "agent",
            "minute_query_limit",
            models.PositiveIntegerField(
                blank=True,
                help_text="Queries a minute of all users together; empty: no limit.",
                null=True,
                verbose_name="query limit a minute",
            ),
        ),
        AlterField("agent", "modified", models.DateTimeField(auto_now=True, verbose_name="modified")),
        AlterField(
            "agent", "more_info_url", models.URLField(blank=True, max_length=2000, verbose_name="more info URL")
        ),
        AlterField("agent", "name", models.CharField(blank=True, max_length=200, verbose_name="name")),
        AlterField(
            "agent",
            "owner",
            models.ForeignKey(
                on_delete=models.PROTECT, related_name="agents", to="accounts.owner", verbose_name="owner"
            ),
        ),
        AlterField(
            "agent",
            "priority",
            models.IntegerField(
                default=0,
                help_text="Among agents with the same capability the highest is asked.",
                verbose_name="priority",
            ),
        ),
        AlterField(
            "agent",
            "protocol",
            models.CharField(
                blank=True,
                default="",
                help_text="What it speaks, where its owner says so; empty: what it says itself.",
                max_length=20,
                verbose_name="protocol",
            ),
        ),
        AlterField("agent", "published", models.BooleanField(default=False, verbose_name="published")),
        AlterField(
            "agent",
            "queries",
            models.JSONField(
                blank=True,
                default=list,
                help_text="What it can be asked, as given at registration.",
                verbose_name="queries",
            ),
        ),
        AlterField(
            "agentlog",
            "agent",
            models.ForeignKey(
                db_index=False, on_delete=models.CASCADE, related_name="log", to="registry.agent", verbose_name="agent"
            ),
        ),
        AlterField(
            "agentlog", "created", models.DateTimeField(db_default=Now(), editable=False, verbose_name="created")
        ),
        AlterField(
            "agentlog",
            "process",
            models.CharField(
                help_text="Which process of which machine wrote them.", max_length=100, verbose_name="process"
            ),
        ),
        AlterField("agentlog", "text", models.TextField(verbose_name="text")),
        AlterField(
            "revision",
            "agent",
            models.ForeignKey(
                on_delete=models.CASCADE, related_name="revisions", to="registry.agent", verbose_name="agent"
            ),
        ),
        AlterField(
            "revision", "created", models.DateTimeField(default=timezone.now, editable=False, verbose_name="created")
        ),
        AlterField(
            "revision",
            "created_by",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=models.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="created by",
            ),
        ),
        AlterField(
            "revision",
            "deployment",
            models.CharField(
                choices=[
                    ("external", "external: at a URL"),
                    ("internal", "internal: a Python callable of this platform"),
                    ("command", "command: a program on this machine"),
                ],
                default="external",
                max_length=8,
                verbose_name="deployment",
            ),
        ),
        AlterField(
            "revision",
            "error",
            models.TextField(blank=True, help_text="Why the manifest could not be used.", verbose_name="error"),
        ),
        AlterField("revision", "manifest", models.JSONField(blank=True, null=True, verbose_name="manifest")),
        AlterField("revision", "metadata", models.JSONField(blank=True, default=dict, verbose_name="metadata")),
        AlterField(
            "revision",
            "options",
            models.JSONField(
                blank=True,
                default=dict,
                help_text="How its transport runs it, beside the target.",
                verbose_name="options",
            ),
        ),
        AlterField(
            "revision",
            "state",
            models.CharField(choices=[("ready", "Ready"), ("error", "Error")], max_length=5, verbose_name="state"),
        ),
        AlterField(
            "revision",
            "target",
            models.CharField(
                help_text="The URL, the program, or the internal agent's name.", max_length=2000, verbose_name="target"
            ),
        ),
        AlterField(
            "revision",
            "transport",
            models.CharField(
                blank=True, help_text="Known once the manifest is read.", max_length=20, verbose_name="transport"
            ),
        ),
    ]
