"""The transactions of embeds: each a function, none of which waits for the file storage."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Sum
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.errors import NotFound, PayloadTooLarge, Unavailable
from embeds.files import Content, new_path
from embeds.models import Blob, Embed, LooseFile, Upload

A_DAY = timedelta(days=1)
BATCH = 1000
ROW_BYTES = 1024


@transaction.atomic
def known_or_planned(owner: int, content_type: str, name: str, content: Content) -> Embed | str:
    """The owner's embed of bytes that are stored already, or else the name of a file to be written for them."""
    _lock(owner)
    blob = Blob.objects.select_for_update(no_key=True).filter(sha256=content.sha256).first()
    if blob is not None:
        return _embed_of(owner, blob, content_type, name)
    check_room(owner, content.size)
    return planned().path


@transaction.atomic
def recorded(
    owner: int, content_type: str, name: str, content: Content, path: str, upload: UUID | None = None
) -> Embed:
    """The embed of bytes that now lie at `path`; of the same bytes elsewhere, if somebody was quicker.

    Ends the `upload` that they came by; NotFound where that has ended already. May be done twice without one.
    """
    _lock(owner)
    if upload is not None and not Upload.objects.filter(pk=upload).delete()[0]:
        raise NotFound("This upload has been completed already.", field="upload")
    blobs = Blob.objects.select_for_update(no_key=True)
    blob, is_new = blobs.get_or_create(sha256=content.sha256, defaults={"size": content.size, "path": path})
    if is_new and not LooseFile.objects.filter(path=path, remove_after__gt=Now()).delete()[0]:
        raise Unavailable("Storing this took so long that its place was given up. Please try again.")
    embed = _embed_of(owner, blob, content_type, name)
    if blob.path != path:
        loosen(path)
    return embed


@transaction.atomic
def shared(owner: int, embed_id: UUID) -> Embed:
    """The owner's embed of the same bytes, type and name as somebody's. Raises NotFound."""
    _lock(owner)
    source = Embed.objects.filter(pk=embed_id).first()
    blob = Blob.objects.select_for_update(no_key=True).filter(pk=source.blob_id).first() if source else None
    if source is None or blob is None:
        raise NotFound("The embed that this link led to is gone.", field="uri")
    return _embed_of(owner, blob, source.content_type, source.name)


@transaction.atomic
def announced(owner: int, content_type: str, name: str, size: int, sha256: str) -> Upload:
    """A new upload with its place. Raises PayloadTooLarge."""
    _lock(owner)
    check_room(owner, size)
    return Upload.objects.create(
        owner_id=owner, content_type=content_type, name=name, size=size, sha256=sha256, file=planned()
    )


def planned() -> LooseFile:
    """A file that is about to be written, for a day at most."""
    file = LooseFile(path=new_path(), remove_after=Now() + A_DAY)
    file.save()
    return file


def check_room(owner: int, size: int) -> None:
    """Raises PayloadTooLarge where `size` more bytes are more than a user may keep, uploads on their way included.

    Each counts as `ROW_BYTES` more than its content, so that empty ones are not for nothing.
    """
    kept = Embed.objects.filter(owner=owner).aggregate(size=_taken("blob__size"))["size"]
    coming = Upload.objects.filter(owner=owner).aggregate(size=_taken("size"))["size"]
    size += ROW_BYTES
    limit = settings.EMBED_MAX_BYTES_PER_USER
    if kept + coming + size > limit:
        raise PayloadTooLarge(
            _("All embeds of a user together may have %(limit)s bytes, and %(used)s are taken."),
            field="size",
            limit=limit,
            used=kept + coming,
        )


def _taken(size: str) -> Combinable:
    return Coalesce(Sum(size), 0) + Count("pk") * ROW_BYTES


def _lock(owner: int) -> None:
    """One at a time adds to what a user keeps: nobody gets past the limit, nobody makes an embed twice."""
    locked = User.objects.select_for_update(no_key=True).filter(pk=owner)
    if locked.values_list("pk", flat=True).first() is None:
        raise NotFound("This user is gone.", field="owner")


def _embed_of(owner: int, blob: Blob, content_type: str, name: str) -> Embed:
    """Under the locks of the owner and the blob: nobody else makes this embed, nobody removes the blob."""
    mine = Embed.objects.filter(owner=owner, blob=blob, content_type=content_type, name=name)
    # First of all a write: it waits for whoever is removing the embed, and then finds it gone.
    if not mine.update(touched=Now()):
        check_room(owner, blob.size)
        Embed(owner_id=owner, blob=blob, content_type=content_type, name=name, touched=Now()).save()
    return mine.select_related("blob").get()


def remove_embeds(ids: Collection[UUID] | None, older_than: timedelta) -> tuple[int, list[int]]:
    """Removes unreferenced embeds (of `ids`, if given): how many, and the ids of the blobs they were made of.

    Looked at again while it is removed: one that was brought or claimed meanwhile stays.
    """
    unreferenced = Embed.objects.unreferenced(older_than=older_than)
    wanted = unreferenced if ids is None else unreferenced.filter(pk__in=ids)
    doomed = dict(wanted.values_list("pk", "blob_id")[:BATCH])
    removed = unreferenced.filter(pk__in=doomed)._raw_delete("default") if doomed else 0
    return removed, list(doomed.values())


@transaction.atomic
def loosen_blobs(ids: Iterable[int] | None = None) -> None:
    """Ends blobs (of `ids`, if given) of which no embed is left; their files are loose from now on.

    Locked first and looked at again then, for an upload of the same bytes holds that lock while it makes its embed.
    """
    unused = Blob.objects.filter(~Exists(Embed.objects.filter(blob=OuterRef("pk"))))
    wanted = unused if ids is None else unused.filter(pk__in=ids)
    locked = list(wanted.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
    gone = dict(unused.filter(pk__in=locked).values_list("pk", "path"))
    LooseFile.objects.bulk_create(LooseFile(path=path, remove_after=Now()) for path in gone.values())
    Blob.objects.filter(pk__in=gone)._raw_delete("default")


def loosen(path: str) -> None:
    """Nothing will become of this file."""
    LooseFile.objects.filter(path=path).update(remove_after=Now())


def due() -> list[str]:
    """Loose files that may be removed."""
    return list(LooseFile.objects.filter(remove_after__lte=Now()).values_list("path", flat=True)[:BATCH])


def forget(paths: list[str]) -> None:
    """After loose files are gone; uploads that were to fill them go with their rows."""
    LooseFile.objects.filter(path__in=paths, remove_after__lte=Now()).delete()
