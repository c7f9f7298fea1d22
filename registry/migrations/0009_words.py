import django.contrib.postgres.indexes
import django.contrib.postgres.search
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0008_set_command'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='agent',
            index=django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector('handle', 'name', 'description', config='simple'), name='words_of_agents'),
        ),
        migrations.AddIndex(
            model_name='samplequery',
            index=django.contrib.postgres.indexes.GinIndex(django.contrib.postgres.search.SearchVector('text', config='simple'), condition=models.Q(('user', None)), name='words_of_samples'),
        ),
    ]
