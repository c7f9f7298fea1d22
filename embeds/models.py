"""Attachments: who brought which bytes, and where they lie."""

from django.db import models
from django.utils import timezone

from accounts.models import User
from common.ids import uuid7


class Blob(models.Model):
    """Bytes in the file storage, there once however many embeds are made of them.

    `path` is new for each row, never made of the hash alone: whoever removes the file of a blob that is gone
    cannot hit the file of a new one with the same bytes.
    """

    sha256 = models.CharField(max_length=64, unique=True, help_text="Hexadecimal.")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    path = models.CharField(max_length=200, help_text="Name in the file storage.")
    created = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.sha256


class Embed(models.Model):
    """An attachment: bytes of a content type that a user owns. Never changes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="embeds", db_index=False)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="embeds")
    content_type = models.CharField(max_length=255)
    created = models.DateTimeField(default=timezone.now, editable=False)
    touched = models.DateTimeField(
        default=timezone.now, editable=False, help_text="When it was last brought; unused ones go a day later."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "blob", "content_type"], name="one_embed_of_the_same_bytes")
        ]

    def __str__(self) -> str:
        return str(self.id)
