from django.db import migrations

# Roles are new: where nobody was given one, all members could do everything, and still can.
EVERYBODY_IS_ADMIN = """
UPDATE accounts_membership SET role = 'admin' WHERE organization_id NOT IN (
    SELECT organization_id FROM accounts_membership WHERE role = 'admin');
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_usage_and_ledger'),
    ]

    operations = [migrations.RunSQL(EVERYBODY_IS_ADMIN, migrations.RunSQL.noop)]
