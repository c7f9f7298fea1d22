from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_pages")]

    operations = [
        migrations.AddIndex(
            model_name="usageday",
            index=models.Index(fields=["day"], condition=models.Q(agent__isnull=True), name="usage_of_a_day"),
        ),
    ]
