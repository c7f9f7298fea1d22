import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('registry', '0004_corpora_read_again'),
    ]

    operations = [
        migrations.AddField(
            model_name='corpus',
            name='tries',
            field=models.PositiveSmallIntegerField(default=0, editable=False, help_text='How many readings in a row have died without a new document.'),
        ),
        migrations.RemoveConstraint(
            model_name='corpusdocument',
            name='one_document_a_source',
        ),
        migrations.AddConstraint(
            model_name='corpusdocument',
            constraint=models.UniqueConstraint(models.F('corpus'), django.db.models.functions.text.MD5('source'), name='one_document_a_source'),
        ),
    ]
