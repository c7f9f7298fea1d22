"""People who use the admin, with just the permissions that a test gives them."""

import uuid
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db.models import Model
from django.test import Client

from accounts.models import User

BACKEND = "django.contrib.auth.backends.ModelBackend"
ASKED = {"asked": "1"}


def superuser() -> User:
    return User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}")


def staff(*permissions: str) -> User:
    """An operator with these permissions, each `app.codename`."""
    user = User.objects.create_user(f"clerk-{uuid.uuid4().hex[:12]}", is_staff=True)
    for permission in permissions:
        app, codename = permission.split(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return user


def browser_of(user: User | None, **options: Any) -> Client:
    """A browser in which they are signed in; nobody where there is no user."""
    client = Client(**options)
    if user is not None:
        client.force_login(user, backend=BACKEND)
    return client


def csv_of(answer: Any) -> str:
    """The text of a streamed answer."""

    async def whole() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return async_to_sync(whole)().decode("utf-8-sig")


def told_of(thing: Model) -> list[tuple[str, str]]:
    """What the audit log tells of an object, oldest first: who, and what they did."""
    entries = LogEntry.objects.filter(object_id=str(thing.pk), content_type__model=thing._meta.model_name)
    return [(entry.user.username, entry.get_change_message()) for entry in entries.order_by("pk")]
