"""Attachments: who brought which bytes, and where they lie."""

from datetime import timedelta

from django.db import models
from django.db.models import Exists, ManyToOneRel, OuterRef
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.filenames import NAME_MAX
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

    class Meta:
        verbose_name, verbose_name_plural = _("stored file"), _("stored files")

    def __str__(self) -> str:
        return self.sha256


class EmbedQuerySet(models.QuerySet["Embed"]):
    def unreferenced(self, *, older_than: timedelta) -> "EmbedQuerySet":
        """Those that no row of any app refers to, and that nobody has brought or claimed for `older_than`."""
        found = self.filter(touched__lte=Now() - older_than)
        # Not `_meta.related_objects`, which leaves out those with the related name "+".
        for relation in Embed._meta.get_fields(include_hidden=True):
            if isinstance(relation, ManyToOneRel):
                rows = relation.related_model._base_manager.filter(**{relation.field.name: OuterRef("pk")})
                found = found.filter(~Exists(rows))
        return found


class Embed(models.Model):
    """An attachment: bytes of a content type, under a name, that a user owns. Never changes.

    The name is as `content_types.named` leaves it, empty where none was given.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="embeds", db_index=False, verbose_name=_("owner")
    )
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="embeds")
    content_type = models.CharField(_("content type"), max_length=255)
    name = models.CharField(_("name"), max_length=NAME_MAX, blank=True, db_default="", default="")
    created = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    touched = models.DateTimeField(
        _("touched"),
        default=timezone.now,
        editable=False,
        help_text=_("When it was last brought; unused ones go a day later."),
    )

    objects = EmbedQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("embed"), _("embeds")
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "blob", "content_type", "name"], name="one_embed_of_the_same_bytes_and_name"
            )
        ]

    def __str__(self) -> str:
        return str(self.id)


class LooseFile(models.Model):
    """A name in the file storage that no blob holds: a file being written, or one to be removed.

    Storage and database share no transaction. So the row is there before its file, turns into a blob in the
    transaction that makes one of it, comes back in the transaction that ends the blob, and goes after the file:
    wherever a process dies, no file is left that the database does not know of.
    Up to `remove_after` the file may become a blob, from then on it may only be removed.
    """

    path = models.CharField(max_length=200, unique=True)
    remove_after = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name, verbose_name_plural = _("loose file"), _("loose files")

    def __str__(self) -> str:
        return self.path


class Upload(models.Model):
    """An announced upload: a file that its owner may write by a signed URL, and then make an embed of."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="uploads")
    content_type = models.CharField(max_length=255)
    name = models.CharField(max_length=NAME_MAX, blank=True, db_default="", default="")
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    sha256 = models.CharField(max_length=64, blank=True, help_text="What was announced, if anything.")
    file = models.OneToOneField(LooseFile, on_delete=models.CASCADE, related_name="upload")
    created = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("upload"), _("uploads")

    def __str__(self) -> str:
        return str(self.id)
