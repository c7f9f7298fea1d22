"""Embeds over REST: uploading in four ways, reading, deleting.

An agent may upload with the token of a call, for its user. To read and to delete is the user's alone: an agent gets
the URLs of what it is to see.
"""

from typing import IO, Any
from uuid import UUID

import orjson
import pydantic
from django.core.exceptions import TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest
from django.http.multipartparser import MultiPartParserError
from ninja import Router
from ninja.errors import ValidationError

from accounts.auth import Acting, Authenticated, Caller, Principal, PrincipalAuth, user_at_work, user_of
from common.db import run_db
from common.errors import InvalidRequest
from embeds import actions, uploads
from embeds.access import embed_for
from embeds.encoding import check_plain
from embeds.files import in_thread
from embeds.models import Embed
from embeds.schemas import EmbedOut, NewEmbed, NewUpload, UploadOut, embed_out, upload_out

embeds_router = Router()

_FILE = {"type": "object", "properties": {"file": {"type": "string", "format": "binary"}}, "required": ["file"]}
_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": _FILE},
            "application/json": {"schema": NewEmbed.model_json_schema()},
        },
    }
}


@embeds_router.post("", response={201: EmbedOut}, auth=PrincipalAuth(), openapi_extra=_BODY)
async def create_embed(request: Acting) -> EmbedOut:
    """Uploads the `file` of a form, or fetches what JSON names. The same bytes again are the same embed."""
    owner = await _owner(request.auth)
    check_plain(request)
    if request.content_type == "multipart/form-data":
        file, content_type, name = await in_thread(_file_of, request)
        return embed_out(await actions.keep_file(owner=owner, content_type=content_type, file=file, name=name))
    new = _new_embed(request.body)
    return embed_out(await actions.fetch(owner=owner, content_type=new.content_type, uri=new.uri, name=new.name))


@embeds_router.get("/{uuid:embed_id}", response=EmbedOut)
def read_embed(request: Authenticated, embed_id: UUID) -> EmbedOut:
    """What is known of an embed of yours, with a fresh URL."""
    return embed_out(embed_for(user_of(request.auth), embed_id))


@embeds_router.delete("/{uuid:embed_id}", response={204: None})
async def delete_embed(request: Authenticated, embed_id: UUID) -> None:
    """Deletes an embed that is in no conversation."""
    await actions.delete_embed(embed=await run_db(_own, request.auth, embed_id))


@embeds_router.post("/uploads", response={201: UploadOut}, auth=PrincipalAuth())
async def announce_upload(request: Acting, payload: NewUpload) -> UploadOut:
    """A place for bytes that you send next, past this API and, where there is one, straight to S3."""
    owner = await _owner(request.auth)
    return upload_out(await uploads.announce_upload(owner=owner, **payload.dict()))


@embeds_router.post("/uploads/{uuid:upload_id}/complete", response={201: EmbedOut}, auth=PrincipalAuth())
async def complete_upload(request: Acting, upload_id: UUID) -> EmbedOut:
    """Makes an embed of what was sent, if it is what was announced."""
    owner = await _owner(request.auth)
    return embed_out(await uploads.complete_upload(owner=owner, upload_id=upload_id))


async def _owner(principal: Principal) -> int:
    """Whose the embed will be: the caller's, or that of the user whom the agent works for. Raises Unauthenticated."""
    return (await user_at_work(principal)).pk


def _own(caller: Caller, embed_id: UUID) -> Embed:
    return embed_for(user_of(caller), embed_id)


def _file_of(request: HttpRequest) -> tuple[IO[bytes], str, str]:
    """The form's file, and the type and the name that it is said to have. Raises InvalidRequest."""
    try:
        file: Any = request.FILES.get("file")
    except (MultiPartParserError, TooManyFieldsSent, TooManyFilesSent):
        raise InvalidRequest("The body is not a form that can be read.", field="body") from None
    if file is None:
        raise InvalidRequest("The form has no file named `file`.", field="file")
    extra = file.content_type_extra or {}
    parameters = [f"; {name}={value.decode('latin-1')}" for name, value in extra.items()]
    return file.file, (file.content_type or actions.UNKNOWN_TYPE) + "".join(parameters), file.name


def _new_embed(body: bytes) -> NewEmbed:
    try:
        return NewEmbed.model_validate(orjson.loads(body))
    except orjson.JSONDecodeError:
        raise InvalidRequest("Send a form with a file, or JSON with a uri.", field="body") from None
    except pydantic.ValidationError as error:
        raise ValidationError([{**each, "loc": ("body", "embed", *each["loc"])} for each in error.errors()]) from None
