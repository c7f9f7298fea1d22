from django.db import migrations

CLIENT_ID = "II4FM6ToxVwSKB6DW1r114AKAuSnuZEgYehEBB-5WQA"


def add(apps, schema_editor):
    """The published `fixie` command line, which comes back to a port of its own on the user's computer."""
    apps.get_model("oauth2_provider", "Application").objects.get_or_create(
        client_id=CLIENT_ID,
        defaults={
            "name": "Fixie command line",
            "client_type": "public",
            "client_secret": "",
            "hash_client_secret": False,
            "authorization_grant_type": "authorization-code",
            "redirect_uris": "http://localhost http://127.0.0.1",
        },
    )


def remove(apps, schema_editor):
    apps.get_model("oauth2_provider", "Application").objects.filter(client_id=CLIENT_ID).delete()


class Migration(migrations.Migration):

    dependencies = [
        ("accounts", "0002_quotas_roles_embeds"),
        ("oauth2_provider", "0022_refreshtoken_token_family_index"),
    ]

    operations = [migrations.RunPython(add, remove)]
