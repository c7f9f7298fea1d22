"""What User Storage looks like over REST, for the lists and for /api/docs."""

from datetime import datetime
from typing import Any

from ninja import Field, Schema


class EntryOut(Schema):
    """A key and what stands under it. `content_type` is null for a text that was set as `{"data": …}`."""

    key: str
    size: int
    content_type: str | None
    etag: str
    modified: datetime


class TextOut(Schema):
    data: str


class UsageOut(Schema):
    """What one agent keeps about you."""

    agent: str
    keys: int
    bytes: int


class EntryPage(Schema):
    prefix: str = Field("", description="Only keys that begin with this.")
    after: str = Field("", description="Only keys after this one.")
    limit: int | None = Field(None, ge=1, description="At most so many; as many as there may be, unless sent.")


def body_of(media_type: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The part of an OpenAPI operation that describes a body which django-ninja does not read itself."""
    return {"requestBody": {"required": True, "content": {media_type: {"schema": schema}}}}


TEXT_IN = body_of(
    "application/json", {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}
)
BYTES_IN = body_of("*/*", {"type": "string", "format": "binary"})
