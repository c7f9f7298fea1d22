from django.db import migrations, models

# `granted_by` is left out: it becomes null when the administrator is deleted.
LEDGER_IS_APPEND_ONLY = """
CREATE FUNCTION accounts_creditentry_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'credit entries are never changed' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER credit_entry_is_final BEFORE UPDATE OF id, user_id, amount, reason, run, created
    ON accounts_creditentry FOR EACH ROW EXECUTE FUNCTION accounts_creditentry_is_final();
"""
ANY_UPDATE = """
DROP TRIGGER credit_entry_is_final ON accounts_creditentry;
DROP FUNCTION accounts_creditentry_is_final();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_fixie_command_line'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='usageday',
            index=models.Index(condition=models.Q(('agent__isnull', False)), fields=['agent', 'day'], name='usage_of_an_agent'),
        ),
        migrations.RunSQL(LEDGER_IS_APPEND_ONLY, ANY_UPDATE),
    ]
