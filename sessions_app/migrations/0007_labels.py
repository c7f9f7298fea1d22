from django.conf import settings
from django.db import migrations, models
from django.db.migrations import AlterField, AlterModelOptions
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """What the admin calls models and fields. Changes nothing in the database."""

    dependencies = [
        ("registry", "0010_labels"),
        ("sessions_app", "0006_runs_by_time"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AlterModelOptions("agentcontext", {"verbose_name": "agent context", "verbose_name_plural": "agent contexts"}),
        AlterModelOptions("message", {"verbose_name": "message", "verbose_name_plural": "messages"}),
        AlterModelOptions("run", {"verbose_name": "run", "verbose_name_plural": "runs"}),
        AlterModelOptions("searchentry", {"verbose_name": "search entry", "verbose_name_plural": "search entries"}),
        AlterModelOptions(
            "session",
            {
                "permissions": [("read_content", "Can read what people and agents write in sessions")],
                "verbose_name": "session",
                "verbose_name_plural": "sessions",
            },
        ),
        AlterModelOptions("sessionembed", {"verbose_name": "attachment", "verbose_name_plural": "attachments"}),
        AlterModelOptions("sharedlink", {"verbose_name": "shared link", "verbose_name_plural": "shared links"}),
        AlterField(
            "agentcontext",
            "agent",
            models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="registry.agent", verbose_name="agent"),
        ),
        AlterField("agentcontext", "modified", models.DateTimeField(auto_now=True, verbose_name="modified")),
        AlterField(
            "message",
            "agent",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=models.SET_NULL,
                to="registry.agent",
                verbose_name="agent",
            ),
        ),
        AlterField(
            "message",
            "kind",
            models.CharField(
                choices=[
                    ("query", "Query"),
                    ("response", "Response"),
                    ("thought", "Thought"),
                    ("func_call", "Func call"),
                    ("func_output", "Func output"),
                    ("agent_call", "Agent call"),
                    ("agent_output", "Agent output"),
                    ("error", "Error"),
                ],
                max_length=12,
            ),
        ),
        AlterField(
            "run",
            "agent",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=models.SET_NULL,
                to="registry.agent",
                verbose_name="agent",
            ),
        ),
        AlterField("run", "cancel_requested", models.BooleanField(db_default=False, verbose_name="cancel requested")),
        AlterField("run", "created", models.DateTimeField(db_default=Now(), editable=False, verbose_name="created")),
        AlterField("run", "epoch", models.PositiveIntegerField(db_default=1, verbose_name="epoch")),
        AlterField(
            "run", "error_code", models.CharField(blank=True, db_default="", max_length=40, verbose_name="error code")
        ),
        AlterField(
            "run",
            "process",
            models.UUIDField(blank=True, help_text="The process that executes it.", null=True, verbose_name="process"),
        ),
        AlterField(
            "run",
            "status",
            models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("in_progress", "In progress"),
                    ("completed", "Completed"),
                    ("failed", "Failed"),
                    ("canceled", "Canceled"),
                ],
                max_length=11,
            ),
        ),
        AlterField(
            "run",
            "step",
            models.PositiveIntegerField(db_default=0, help_text="Steps appended so far.", verbose_name="step"),
        ),
        AlterField(
            "session",
            "active",
            models.DateTimeField(db_default=Now(), editable=False, verbose_name="last asked"),
        ),
        AlterField(
            "session",
            "agent",
            models.ForeignKey(
                blank=True,
                db_constraint=False,
                help_text="The front agent.",
                null=True,
                on_delete=models.SET_NULL,
                to="registry.agent",
                verbose_name="agent",
            ),
        ),
        AlterField(
            "session", "created", models.DateTimeField(db_default=Now(), editable=False, verbose_name="created")
        ),
        AlterField("session", "handle", models.CharField(max_length=100, verbose_name="handle")),
        AlterField(
            "session",
            "owner",
            models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="sessions",
                to=settings.AUTH_USER_MODEL,
                verbose_name="owner",
            ),
        ),
        AlterField(
            "sharedlink", "created", models.DateTimeField(db_default=Now(), editable=False, verbose_name="created")
        ),
        AlterField("sharedlink", "last_seq", models.PositiveIntegerField(verbose_name="up to message")),
        AlterField("sharedlink", "revoked", models.DateTimeField(blank=True, null=True, verbose_name="revoked")),
        AlterField(
            "sharedlink",
            "session",
            models.ForeignKey(
                on_delete=models.CASCADE, related_name="links", to="sessions_app.session", verbose_name="session"
            ),
        ),
    ]
