"""Announced uploads: the bytes come by a signed URL, to the site or straight to S3, and are looked at afterwards."""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from common.db import run_db
from common.errors import InvalidRequest, NotFound, Unavailable
from embeds import actions, content_types, links, rows
from embeds.files import Content, Source, content_of, files, in_thread
from embeds.models import Embed, Upload

# Less than the day after which the place of an upload is given up: no link writes to where nobody looks any more.
LINK_SECONDS = 3600
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True)
class Announced:
    """How the bytes are to be sent: `method` to `url` with `headers`, before `expires` (Unix seconds)."""

    id: UUID
    url: str
    headers: dict[str, str]
    expires: int
    method: str = "PUT"


async def announce_upload(*, owner: int, content_type: str, size: int, sha256: str = "", name: str = "") -> Announced:
    """A place for `size` bytes and the signed URL to put them there. Raises InvalidRequest, PayloadTooLarge."""
    content_type = content_types.checked(content_type)
    actions.check_size(size, settings.EMBED_MAX_BYTES)
    if sha256 and not _SHA256.fullmatch(sha256):
        raise InvalidRequest("sha256 is 64 hexadecimal digits.", field="sha256")
    upload = await run_db(rows.announced, owner, content_type, content_types.named(name), size, sha256.lower())
    expires = int(time.time()) + LINK_SECONDS
    url = await in_thread(files().upload_url, upload.file.path, content_type, size, LINK_SECONDS)
    url = url or links.signed("PUT", f"{links.UPLOADS}{upload.pk}", expires)
    return Announced(upload.pk, url, {"Content-Type": content_type, "Content-Length": str(size)}, expires)


async def receive_upload(*, upload_id: UUID, content_type: str, size: int, content: Source) -> None:
    """Puts the bytes of an upload where they were announced to go; again, if they are sent again.

    Raises NotFound, and InvalidRequest (`content_type`, `size`) where they are not what was announced.
    """
    upload = await run_db(_with_file, upload_id)
    if content_types.checked(content_type) != upload.content_type:
        raise InvalidRequest(f"This upload was announced as {upload.content_type}.", field="content_type")
    if size != upload.size:
        raise InvalidRequest(f"This upload was announced with {upload.size} bytes.", field="size")
    await in_thread(files().put, upload.file.path, content)


async def complete_upload(*, owner: int, upload_id: UUID) -> Embed:
    """The embed of what was uploaded. The upload is over then; until then it may be tried again.

    The link may still write to the upload's place. So the bytes are copied to where no link leads, and only then
    looked at: nobody can exchange them afterwards.
    Raises NotFound, and InvalidRequest where nothing was uploaded or not what was announced.
    """
    upload = await run_db(_with_file, upload_id, owner)
    path = (await run_db(rows.planned)).path

    async def store() -> Embed:
        content = await in_thread(_copied, upload.file.path, path)
        _check_announced(upload, content)
        return await run_db(rows.recorded, owner, upload.content_type, upload.name, content, path, upload.pk)

    embed = await actions.or_nothing(path, store)
    # Its row stays for the day: while the link is good, somebody may write there again.
    with suppress(Unavailable):
        await in_thread(files().delete, upload.file.path)
    return embed


def _with_file(upload_id: UUID, owner: int | None = None) -> Upload:
    uploads = Upload.objects.filter(pk=upload_id).select_related("file")
    upload = (uploads if owner is None else uploads.filter(owner=owner)).first()
    if upload is None:
        raise NotFound("There is no such upload, or it is over.", field="upload")
    return upload


def _copied(source: str, target: str) -> Content:
    storage = files()
    try:
        storage.copy(source, target)
    except FileNotFoundError:
        raise InvalidRequest("Nothing has been uploaded yet.", field="upload") from None
    copy = storage.get(target)
    try:
        return content_of(copy)
    finally:
        copy.close()


def _check_announced(upload: Upload, content: Content) -> None:
    if content.size != upload.size:
        raise InvalidRequest(f"{upload.size} bytes were announced, {content.size} came.", field="size")
    if upload.sha256 and content.sha256 != upload.sha256:
        raise InvalidRequest("The bytes that came are not those whose SHA-256 was announced.", field="sha256")
    content_types.check_honest(upload.content_type, content.head)
