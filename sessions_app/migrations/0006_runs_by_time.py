from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0005_pages")]

    operations = [
        migrations.RemoveIndex(model_name="run", name="runs_that_broke_off"),
        migrations.AddIndex(model_name="run", index=models.Index(fields=["created"], name="runs_by_time")),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["created"],
                include=["status", "error_code"],
                condition=models.Q(status__in=["failed", "canceled"], copied=False),
                name="runs_that_broke_off",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["error_code", "created"],
                condition=models.Q(("error_code", ""), _negated=True),
                name="runs_by_error",
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(fields=["id"], condition=models.Q(archived=True), name="archived_sessions"),
        ),
    ]
