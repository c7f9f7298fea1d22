from django.conf import settings
from django.db import migrations, models
from django.db.migrations import AlterField, AlterModelOptions


class Migration(migrations.Migration):
    """What the admin calls models and fields. Changes nothing in the database."""

    dependencies = [
        ("registry", "0010_labels"),
        ("storage_kv", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AlterModelOptions("storagecalls", {"verbose_name": "storage calls", "verbose_name_plural": "storage calls"}),
        AlterModelOptions("storedvalue", {"verbose_name": "stored value", "verbose_name_plural": "stored values"}),
        AlterField(
            "storagecalls",
            "agent",
            models.ForeignKey(
                db_constraint=False,
                on_delete=models.DO_NOTHING,
                related_name="+",
                to="registry.agent",
                verbose_name="agent",
            ),
        ),
        AlterField(
            "storagecalls",
            "user",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=models.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
        AlterField(
            "storageusage",
            "agent",
            models.ForeignKey(
                db_constraint=False,
                on_delete=models.DO_NOTHING,
                related_name="+",
                to="registry.agent",
                verbose_name="agent",
            ),
        ),
        AlterField(
            "storageusage",
            "bytes",
            models.PositiveBigIntegerField(help_text="Bytes of all values together.", verbose_name="bytes"),
        ),
        AlterField("storageusage", "keys", models.PositiveIntegerField(verbose_name="keys")),
        AlterField(
            "storageusage",
            "user",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=models.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
        AlterField(
            "storedvalue",
            "agent",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=models.DO_NOTHING,
                related_name="+",
                to="registry.agent",
                verbose_name="agent",
            ),
        ),
        AlterField(
            "storedvalue",
            "user",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                on_delete=models.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="user",
            ),
        ),
    ]
