"""Embeds and uploads as they travel over REST."""

from datetime import UTC, datetime
from uuid import UUID

from ninja import Field, Schema

from embeds.links import signed_url
from embeds.models import Embed
from embeds.uploads import Announced


class EmbedOut(Schema):
    id: UUID
    content_type: str
    name: str = Field(description="What the file is called; empty where nobody said.")
    size: int = Field(description="Bytes.")
    sha256: str
    url: str = Field(description="Where to fetch it, with no key, for about an hour.")
    created: datetime


class NewEmbed(Schema):
    """An embed by reference."""

    content_type: str = Field("", description="What the URI or its answer says, unless given.")
    uri: str = Field(description="A `data:` URI, or where to fetch it.")
    name: str = Field("", description="What to call the file.")


class NewUpload(Schema):
    content_type: str
    size: int = Field(ge=0, description="Bytes.")
    sha256: str = Field("", description="Hexadecimal. What comes must have it.")
    name: str = Field("", description="What to call the file.")


class UploadOut(Schema):
    """Send the bytes by `method` to `url` with `headers`, before `expires`; then complete the upload."""

    id: UUID
    method: str
    url: str
    headers: dict[str, str]
    expires: datetime


def embed_out(embed: Embed) -> EmbedOut:
    """With a fresh URL. The embed's blob is loaded."""
    return EmbedOut(
        id=embed.pk,
        content_type=embed.content_type,
        name=embed.name,
        size=embed.blob.size,
        sha256=embed.blob.sha256,
        url=signed_url(embed.pk),
        created=embed.created,
    )


def upload_out(upload: Announced) -> UploadOut:
    return UploadOut(
        id=upload.id,
        method=upload.method,
        url=upload.url,
        headers=upload.headers,
        expires=datetime.fromtimestamp(upload.expires, UTC),
    )
