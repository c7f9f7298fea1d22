from django.db import migrations, models

# Each question updates a row: it has room on its page for the new version.
OF_A_MINUTE = """
ALTER TABLE accounts_agentminute SET UNLOGGED;
ALTER TABLE accounts_agentminute SET (fillfactor = 50);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_organizations_have_admins'),
    ]

    operations = [
        migrations.CreateModel(
            name='AgentMinute',
            fields=[
                ('agent', models.BigIntegerField(primary_key=True, serialize=False)),
                ('began', models.DateTimeField()),
                ('queries', models.PositiveIntegerField()),
            ],
        ),
        migrations.RunSQL(OF_A_MINUTE, migrations.RunSQL.noop),
    ]
