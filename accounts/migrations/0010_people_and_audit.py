from django.contrib.postgres.indexes import OpClass
from django.db import migrations, models
from django.db.models.functions import Upper


class Migration(migrations.Migration):
    """Finding people by the beginning of a name or an address, and what was done to an object in the audit log."""

    dependencies = [("accounts", "0009_exports_and_removals"), ("admin", "0003_logentry_add_action_flag_choices")]

    operations = [
        migrations.AddIndex(
            model_name="user",
            index=models.Index(OpClass(Upper("username"), "text_pattern_ops"), name="people_by_username"),
        ),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(OpClass(Upper("email"), "text_pattern_ops"), name="people_by_email"),
        ),
        # A table of Django's own, which has indexes of one column each.
        migrations.RunSQL(
            """
            CREATE INDEX audit_log_of_an_object ON django_admin_log (content_type_id, object_id, id);
            CREATE INDEX audit_log_of_an_operator ON django_admin_log (user_id, id);
            """,
            "DROP INDEX audit_log_of_an_object, audit_log_of_an_operator",
        ),
    ]
