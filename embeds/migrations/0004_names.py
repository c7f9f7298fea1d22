from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Files keep their names; under two names, the same bytes are two embeds."""

    dependencies = [
        ("embeds", "0003_labels"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            "embed",
            "name",
            models.CharField(blank=True, db_default="", default="", max_length=120, verbose_name="name"),
        ),
        migrations.AddField("upload", "name", models.CharField(blank=True, db_default="", default="", max_length=120)),
        migrations.AddConstraint(
            "embed",
            models.UniqueConstraint(
                fields=("owner", "blob", "content_type", "name"), name="one_embed_of_the_same_bytes_and_name"
            ),
        ),
        migrations.RemoveConstraint("embed", "one_embed_of_the_same_bytes"),
    ]
