from django.conf import settings
from django.db import migrations, models
from django.db.migrations import AlterField, AlterModelOptions
from django.utils import timezone


class Migration(migrations.Migration):
    """What the admin calls models and fields. Changes nothing in the database."""

    dependencies = [
        ("embeds", "0002_loose_files_and_uploads"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        AlterModelOptions("blob", {"verbose_name": "stored file", "verbose_name_plural": "stored files"}),
        AlterModelOptions("embed", {"verbose_name": "embed", "verbose_name_plural": "embeds"}),
        AlterModelOptions("loosefile", {"verbose_name": "loose file", "verbose_name_plural": "loose files"}),
        AlterModelOptions("upload", {"verbose_name": "upload", "verbose_name_plural": "uploads"}),
        AlterField("embed", "content_type", models.CharField(max_length=255, verbose_name="content type")),
        AlterField(
            "embed", "created", models.DateTimeField(default=timezone.now, editable=False, verbose_name="created")
        ),
        AlterField(
            "embed",
            "owner",
            models.ForeignKey(
                db_index=False,
                on_delete=models.CASCADE,
                related_name="embeds",
                to=settings.AUTH_USER_MODEL,
                verbose_name="owner",
            ),
        ),
        AlterField(
            "embed",
            "touched",
            models.DateTimeField(
                default=timezone.now,
                editable=False,
                help_text="When it was last brought; unused ones go a day later.",
                verbose_name="touched",
            ),
        ),
    ]
