"""Everything that writes embeds; announced uploads are in `uploads`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from datetime import timedelta
from tempfile import SpooledTemporaryFile
from typing import IO
from urllib.parse import parse_qsl
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError
from django.utils.translation import gettext_lazy as _

from common import http
from common.db import run_db, run_db_safely
from common.errors import AgentInvalidResponse, InvalidRequest, PayloadTooLarge, Unavailable
from embeds import content_types, data_uris, links, rows
from embeds.files import content_of, files, in_thread
from embeds.models import Embed

log = structlog.get_logger()

SPOOLED_BYTES = 1024 * 1024
UNKNOWN_TYPE = "application/octet-stream"


async def keep(
    *, owner: int, content_type: str, pieces: AsyncIterator[bytes], name: str = "", max_bytes: int | None = None
) -> Embed:
    """Stores bytes as an embed of the user `owner` and returns it with its blob.

    The same bytes of the same type and name are the embed that is there already, which counts as brought just now.
    Raises InvalidRequest (content type), PayloadTooLarge (`max_bytes`, EMBED_MAX_BYTES, or all that a user may
    keep), Unavailable (S3 is away), and what the iteration over `pieces` raises; then nothing is kept.
    """
    content_type = content_types.checked(content_type)
    limit = settings.EMBED_MAX_BYTES if max_bytes is None else min(max_bytes, settings.EMBED_MAX_BYTES)
    with SpooledTemporaryFile(max_size=SPOOLED_BYTES) as file:
        size = 0
        async for piece in pieces:
            size += len(piece)
            check_size(size, limit)
            await in_thread(file.write, piece)
        return await keep_file(owner=owner, content_type=content_type, file=file, name=name)


async def keep_file(*, owner: int, content_type: str, file: IO[bytes], name: str = "") -> Embed:
    """`keep`, of a whole file that can be read twice."""
    content_type, name = content_types.checked(content_type), content_types.named(name)
    await in_thread(file.seek, 0)
    content = await in_thread(content_of, file)
    check_size(content.size, settings.EMBED_MAX_BYTES)
    content_types.check_honest(content_type, content.head)
    found = await run_db_safely(rows.known_or_planned, owner, content_type, name, content)
    if isinstance(found, Embed):
        return found

    async def store() -> Embed:
        await in_thread(file.seek, 0)
        await in_thread(files().put, found, file)
        return await run_db_safely(rows.recorded, owner, content_type, name, content, found)

    return await or_nothing(found, store)


async def fetch(*, owner: int, content_type: str, uri: str, name: str = "") -> Embed:
    """`keep`, of what `uri` names: a `data:` URI, the SDK's odd `data:base64,…`, an http(s) URL, or one of our own.

    Without a `content_type` it is what the URI or the answer says. One of our own signed URLs costs no request:
    `owner` gets an embed of the same bytes, type and name, whatever `content_type` and `name` are.
    Also raises InvalidRequest (`uri`), LinkRefused and NotFound (ours: expired, changed, gone), and AgentUnreachable,
    AgentTimeout and AgentInvalidResponse, as `common.http` does and where the status is not 200.
    """
    if uri.startswith(data_uris.SCHEME):
        found = await in_thread(data_uris.decoded, uri, max_bytes=settings.EMBED_MAX_BYTES)
        said = content_type or found.content_type or "text/plain"
        return await keep(owner=owner, content_type=said, pieces=_one(found.data), name=name)
    _check_url(uri)
    if uri.startswith(settings.SITE_URL + links.DOWNLOADS):
        path, __, query = uri.removeprefix(settings.SITE_URL).partition("?")
        return await run_db_safely(rows.shared, owner, links.verified("GET", path, dict(parse_qsl(query))))
    limit = settings.EMBED_MAX_BYTES
    async with http.client().stream("GET", uri, timeout=settings.AGENT_CALL_TIMEOUT, max_bytes=limit) as answer:
        if answer.status != 200:
            raise AgentInvalidResponse(f"The embed cannot be had: its address answers {answer.status}.", uri=uri[:200])
        said = content_type or answer.headers.get("content-type") or UNKNOWN_TYPE
        return await keep(owner=owner, content_type=said, pieces=answer, name=name)


async def delete_embed(*, embed: Embed) -> None:
    """Removes an embed that nothing refers to. Raises InvalidRequest where something does."""
    if not await remove_unreferenced(ids=[embed.pk], older_than=timedelta(0)):
        raise InvalidRequest(
            _("This embed is part of a conversation and goes with it."), field="id", reason="referenced"
        )


async def remove_unreferenced(*, ids: Collection[UUID] | None = None, older_than: timedelta = rows.A_DAY) -> int:
    """Removes embeds (of `ids`, if given) that no row refers to and nobody brought for `older_than`; how many.

    Bytes that no embed is left of go with them. After deleting what referred to embeds, call it with their ids and
    `older_than=timedelta(0)`, outside of a transaction.
    """
    try:
        removed, blobs = await run_db_safely(rows.remove_embeds, ids, older_than)
    except IntegrityError:
        # Somebody refers to one of them since a moment ago. The hourly task sees to the others.
        log.warning("embeds_stay", reason="referenced meanwhile")
        return 0
    await run_db_safely(rows.loosen_blobs, None if ids is None else blobs)
    await remove_loose_files()
    return removed


async def remove_loose_files() -> None:
    """Removes files that nothing will become of. Where the storage is away, the next call does it."""
    paths = await run_db(rows.due)
    try:
        for path in paths:
            await in_thread(files().delete, path)
    except Unavailable:
        log.warning("loose_files_stay", count=len(paths))
        return
    await run_db(rows.forget, paths)


async def or_nothing(path: str, storing: Callable[[], Awaitable[Embed]]) -> Embed:
    """What `storing` makes of the planned file `path`, which does not outlive its failure.

    Nor does it where this is cancelled or killed: only later then, by its row.
    """
    try:
        return await storing()
    except Exception:
        await run_db_safely(rows.loosen, path)
        await remove_loose_files()
        raise


def check_size(size: int, limit: int) -> None:
    """Raises PayloadTooLarge."""
    if size > limit:
        raise PayloadTooLarge(_("An embed may have %(limit)s bytes."), field="size", limit=limit)


def _check_url(uri: str) -> None:
    try:
        http.check_url(uri)
    except InvalidRequest as error:
        raise InvalidRequest(error.message, field="uri") from None


async def _one(piece: bytes) -> AsyncIterator[bytes]:
    yield piece
