from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models
from django.db.migrations import AlterField, AlterModelOptions
from django.db.models.functions import Now


class Migration(migrations.Migration):
    """What the admin calls what is there for routing. Changes nothing in the database."""

    dependencies = [("registry", "0010_labels")]

    operations = [
        AlterModelOptions("agentindex", {"verbose_name": "agent index", "verbose_name_plural": "agent indexes"}),
        AlterModelOptions("chunk", {"verbose_name": "passage", "verbose_name_plural": "passages"}),
        AlterModelOptions("corpus", {"verbose_name": "corpus", "verbose_name_plural": "corpora"}),
        AlterModelOptions("corpusdocument", {"verbose_name": "document", "verbose_name_plural": "documents"}),
        AlterModelOptions(
            "routingpreference",
            {"ordering": ["position", "pk"], "verbose_name": "preference", "verbose_name_plural": "preferences"},
        ),
        AlterModelOptions(
            "routingrule",
            {"ordering": ["-priority", "pk"], "verbose_name": "routing rule", "verbose_name_plural": "routing rules"},
        ),
        AlterModelOptions("sampleindex", {"verbose_name": "sample index", "verbose_name_plural": "sample indexes"}),
        AlterModelOptions("samplequery", {"verbose_name": "sample query", "verbose_name_plural": "sample queries"}),
        AlterField(
            "agentindex",
            "agent",
            models.OneToOneField(
                on_delete=models.CASCADE,
                primary_key=True,
                related_name="index",
                serialize=False,
                to="registry.agent",
                verbose_name="agent",
            ),
        ),
        AlterField("agentindex", "done", models.PositiveIntegerField(default=0, verbose_name="done")),
        AlterField("agentindex", "error", models.TextField(blank=True, default="", verbose_name="error")),
        AlterField("agentindex", "modified", models.DateTimeField(auto_now=True, verbose_name="modified")),
        AlterField(
            "agentindex",
            "revision",
            models.ForeignKey(
                help_text="Whose samples are in the index.",
                null=True,
                on_delete=models.SET_NULL,
                related_name="+",
                to="registry.revision",
                verbose_name="revision",
            ),
        ),
        AlterField("agentindex", "total", models.PositiveIntegerField(default=0, verbose_name="total")),
        AlterField(
            "corpus",
            "auth_token_func",
            models.CharField(blank=True, default="", max_length=100, verbose_name="auth token Func"),
        ),
        AlterField("corpus", "bytes_read", models.PositiveBigIntegerField(default=0, verbose_name="bytes read")),
        AlterField("corpus", "created", models.DateTimeField(db_default=Now(), editable=False, verbose_name="created")),
        AlterField("corpus", "documents_done", models.PositiveIntegerField(default=0, verbose_name="documents done")),
        AlterField(
            "corpus", "documents_failed", models.PositiveIntegerField(default=0, verbose_name="documents failed")
        ),
        AlterField(
            "corpus",
            "embedder",
            models.CharField(
                blank=True, default="", help_text="Of its chunks' vectors.", max_length=200, verbose_name="embedder"
            ),
        ),
        AlterField(
            "corpus",
            "error",
            models.TextField(
                blank=True, default="", help_text="Why it failed, or where it stopped short.", verbose_name="error"
            ),
        ),
        AlterField(
            "corpus", "exclude_patterns", models.JSONField(blank=True, default=list, verbose_name="exclude patterns")
        ),
        AlterField("corpus", "func", models.CharField(blank=True, default="", max_length=100, verbose_name="Func")),
        AlterField(
            "corpus",
            "kind",
            models.CharField(
                choices=[("urls", "web pages"), ("func", "a corpus Func of the agent")],
                max_length=4,
                verbose_name="kind",
            ),
        ),
        AlterField("corpus", "modified", models.DateTimeField(auto_now=True, verbose_name="modified")),
        AlterField(
            "corpus",
            "position",
            models.PositiveSmallIntegerField(help_text="In the manifest, from 0.", verbose_name="position"),
        ),
        AlterField(
            "corpus",
            "revision",
            models.ForeignKey(
                on_delete=models.CASCADE, related_name="corpora", to="registry.revision", verbose_name="revision"
            ),
        ),
        AlterField(
            "corpus",
            "status",
            models.CharField(
                choices=[
                    ("pending", "waits to be read"),
                    ("indexing", "is being read"),
                    ("ready", "Ready"),
                    ("failed", "Failed"),
                ],
                default="pending",
                max_length=8,
                verbose_name="status",
            ),
        ),
        AlterField("corpus", "urls", models.JSONField(blank=True, default=list, verbose_name="URLs")),
        AlterField("corpus", "vector_count", models.PositiveIntegerField(default=0, verbose_name="vector count")),
        AlterField(
            "corpusdocument",
            "content_type",
            models.CharField(blank=True, default="", max_length=100, verbose_name="content type"),
        ),
        AlterField("corpusdocument", "error", models.TextField(blank=True, default="", verbose_name="error")),
        AlterField("corpusdocument", "fetched", models.DateTimeField(db_default=Now(), verbose_name="fetched")),
        AlterField("corpusdocument", "size", models.PositiveBigIntegerField(default=0, verbose_name="size")),
        AlterField(
            "corpusdocument",
            "source",
            models.CharField(
                help_text="Its URL, or what the corpus Func calls it.", max_length=2000, verbose_name="source"
            ),
        ),
        AlterField(
            "corpusdocument",
            "status",
            models.CharField(
                choices=[("done", "Done"), ("failed", "Failed"), ("skipped", "Skipped")],
                max_length=7,
                verbose_name="status",
            ),
        ),
        AlterField(
            "corpusdocument", "title", models.CharField(blank=True, default="", max_length=300, verbose_name="title")
        ),
        AlterField(
            "routingpreference",
            "agent",
            models.ForeignKey(on_delete=models.CASCADE, related_name="+", to="registry.agent", verbose_name="agent"),
        ),
        AlterField(
            "routingpreference", "position", models.PositiveSmallIntegerField(default=0, verbose_name="position")
        ),
        AlterField("routingrule", "enabled", models.BooleanField(default=True, verbose_name="enabled")),
        AlterField(
            "routingrule",
            "keywords",
            ArrayField(
                base_field=models.CharField(max_length=100),
                blank=True,
                default=list,
                size=None,
                verbose_name="keywords",
            ),
        ),
        AlterField("routingrule", "priority", models.IntegerField(default=0, verbose_name="priority")),
        AlterField(
            "routingrule",
            "task_type",
            models.CharField(
                blank=True,
                default="",
                help_text="Empty: queries that people type, and any without a type.",
                max_length=100,
                verbose_name="task type",
            ),
        ),
        AlterField(
            "sampleindex",
            "id",
            models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False, verbose_name="ID"),
        ),
        AlterField(
            "sampleindex",
            "building",
            models.CharField(
                blank=True,
                default="",
                help_text="The embedder of `next_embedding`, while the site moves to it.",
                max_length=200,
                verbose_name="building",
            ),
        ),
        AlterField("sampleindex", "done", models.PositiveIntegerField(default=0, verbose_name="done")),
        AlterField("sampleindex", "error", models.TextField(blank=True, default="", verbose_name="error")),
        AlterField("sampleindex", "modified", models.DateTimeField(auto_now=True, verbose_name="modified")),
        AlterField(
            "sampleindex",
            "serving",
            models.CharField(
                help_text="The embedder of `SampleQuery.embedding`.", max_length=200, verbose_name="serving"
            ),
        ),
        AlterField("sampleindex", "total", models.PositiveIntegerField(default=0, verbose_name="total")),
        AlterField(
            "samplequery",
            "agent",
            models.ForeignKey(
                on_delete=models.CASCADE, related_name="sample_queries", to="registry.agent", verbose_name="agent"
            ),
        ),
        AlterField(
            "samplequery",
            "clash",
            models.ForeignKey(
                blank=True,
                help_text="Another owner's agent that says it answers the same.",
                null=True,
                on_delete=models.SET_NULL,
                related_name="+",
                to="registry.agent",
                verbose_name="clash",
            ),
        ),
        AlterField(
            "samplequery", "created", models.DateTimeField(db_default=Now(), editable=False, verbose_name="created")
        ),
        AlterField(
            "samplequery",
            "revision",
            models.ForeignKey(
                blank=True,
                help_text="Null for corrections.",
                null=True,
                on_delete=models.CASCADE,
                related_name="+",
                to="registry.revision",
                verbose_name="revision",
            ),
        ),
        AlterField(
            "samplequery",
            "source",
            models.CharField(
                choices=[
                    ("few_shot", "the Q: line of a few-shot"),
                    ("manifest", "a sample query of the manifest"),
                    ("given", "given at registration"),
                    ("name", "the agent's name"),
                    ("correction", "somebody asked this agent instead of another"),
                ],
                max_length=10,
                verbose_name="source",
            ),
        ),
        AlterField("samplequery", "text", models.TextField(verbose_name="text")),
        AlterField(
            "samplequery",
            "user",
            models.ForeignKey(
                blank=True,
                help_text="Whom a correction routes; null: everyone.",
                null=True,
                on_delete=models.CASCADE,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
    ]
