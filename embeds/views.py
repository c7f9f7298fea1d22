"""Signed URLs: the bytes of embeds for whoever holds one, and the places where announced uploads are put.

No key and no cookie is asked for: agents fetch here, and pages of other sites may show what is here.
"""

import time
from collections.abc import AsyncIterator
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from common.db import run_db_safely
from common.errors import NotFound
from embeds import content_types, links, uploads
from embeds.encoding import check_plain
from embeds.files import PIECE, Readable, files, in_thread
from embeds.models import Embed
from embeds.ranges import Unsatisfiable, byte_range

# How long the address of S3 is good, at most, that a browser is sent on to; a download has to begin within it.
HANDED_ON_SECONDS = 300
# Content is data: whatever it says of itself, it runs nothing, loads nothing of others, and is nobody's page.
SAFETY = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "sandbox; default-src 'none'; img-src 'self'; media-src 'self'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
}


@require_safe
async def download(request: HttpRequest, embed_id: UUID) -> HttpResponseBase:
    """The bytes of an embed, streamed, or in answer to `Range` a part of them; with S3 a redirect to them there."""
    links.verified(request.method or "", request.path, request.GET.dict())
    seconds = int(request.GET["expires"]) - int(time.time())
    embed = await run_db_safely(_with_blob, embed_id)
    disposition = content_types.disposition(embed.content_type, embed.name, embed.pk)
    good_for = max(1, min(seconds, HANDED_ON_SECONDS))
    at_storage = await in_thread(
        files().download_url, embed.blob.path, request.method or "", embed.content_type, disposition, good_for
    )
    if at_storage is not None:
        caching = f"private, max-age={good_for // 2}"
        return HttpResponse(status=302, headers={"Location": at_storage, "Cache-Control": caching})
    conditional = get_conditional_response(request, _etag(embed), int(embed.created.timestamp()))
    response: HttpResponseBase = conditional or await _content(request, embed)
    about = {} if conditional else {"Content-Type": embed.content_type, "Content-Disposition": disposition}
    lasting = {"Cache-Control": f"private, max-age={seconds}, immutable", "ETag": _etag(embed)}
    for name, value in (SAFETY | about | lasting).items():
        response.headers[name] = value
    response.headers["Last-Modified"] = _modified(embed)
    response.headers["Accept-Ranges"] = "bytes"
    return response


@csrf_exempt
@require_http_methods(["PUT"])
async def upload(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    """Takes the bytes of an announced upload, where S3 does not do it."""
    links.verified("PUT", request.path, request.GET.dict())
    check_plain(request)
    size = int(request.META.get("CONTENT_LENGTH") or 0)
    await uploads.receive_upload(
        upload_id=upload_id, content_type=request.META.get("CONTENT_TYPE", ""), size=size, content=request
    )
    return HttpResponse()


def _with_blob(embed_id: UUID) -> Embed:
    embed = Embed.objects.filter(pk=embed_id).select_related("blob").first()
    if embed is None:
        raise NotFound("This embed is gone.", field="embed")
    return embed


def _etag(embed: Embed) -> str:
    return f'"{embed.blob.sha256}"'


def _modified(embed: Embed) -> str:
    return http_date(embed.created.timestamp())


async def _content(request: HttpRequest, embed: Embed) -> HttpResponseBase:
    size = embed.blob.size
    try:
        part = byte_range(_range_header(request, embed), size)
    except Unsatisfiable:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    sent = part or range(size)
    headers = {"Content-Length": str(len(sent))}
    if part:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{size}"
    status = 206 if part else 200
    if request.method == "HEAD":
        return HttpResponse(status=status, headers=headers)
    try:
        file = await in_thread(files().get, embed.blob.path, sent.start)
    except FileNotFoundError:
        raise NotFound("This embed is gone.", field="embed") from None
    return StreamingHttpResponse(_pieces(file, len(sent)), status=status, headers=headers)


def _range_header(request: HttpRequest, embed: Embed) -> str:
    """The `Range` that counts: of a GET, and only for the content that `If-Range` names."""
    condition = request.headers.get("If-Range")
    if request.method != "GET" or condition not in (None, _etag(embed), _modified(embed)):
        return ""
    return request.headers.get("Range", "")


async def _pieces(file: Readable, left: int) -> AsyncIterator[bytes]:
    try:
        while left and (piece := await in_thread(file.read, min(left, PIECE))):
            left -= len(piece)
            yield piece
    finally:
        file.close()
