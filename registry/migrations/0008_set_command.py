from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0007_protocols_and_commands'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='revision',
            options={'permissions': [('set_command', 'Can say which programs this machine runs for agents')]},
        ),
    ]
