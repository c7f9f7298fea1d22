"""What administrators see of User Storage: how much, never what."""

import uuid

from asgiref.sync import async_to_sync
from django.test import AsyncClient

from accounts.models import User
from storage_kv.models import StorageUsage
from tests.storage_kv.memories import Memory

PAGE = "/admin/storage_kv/storageusage/"


def test_administrators_see_how_much_is_kept_and_nothing_of_what(storage: Memory) -> None:
    storage.set("a secret key", "a secret text")
    client = AsyncClient()
    client.force_login(User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}"))
    get, post = async_to_sync(client.get), async_to_sync(client.post)
    usage = StorageUsage.objects.latest("pk")

    page = get(PAGE, {"q": storage.agent.partition("/")[2]}).content.decode()
    row = get(f"{PAGE}{usage.pk}/change/").content.decode()

    assert storage.agent in page
    assert usage.user.username in page
    assert "secret" not in page + row
    assert post(f"{PAGE}{usage.pk}/delete/", {"post": "yes"}).status_code == 403
    assert get(f"{PAGE}add/").status_code == 403
    assert post(f"{PAGE}{usage.pk}/change/", {"bytes": "0"}).status_code == 403
    assert storage.usage() == (1, 13)
