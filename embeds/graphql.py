"""Attachments over GraphQL."""

from datetime import datetime

import strawberry
import strawberry_django
from strawberry import auto

from accounts.graphql import UserType
from accounts.models import User
from embeds.links import signed_url
from embeds.models import Embed


@strawberry_django.type(Embed, description="An attachment. It never changes.")
class EmbedType:
    """Loaded with its blob and its owner."""

    id: strawberry.ID
    content_type: auto
    name: auto
    created: datetime

    @strawberry.field(description="SHA-256 of the bytes, in hexadecimal.")
    def content_hash(self, root: strawberry.Parent[Embed]) -> str:
        return root.blob.sha256

    @strawberry.field(description="Bytes.")
    def size(self, root: strawberry.Parent[Embed]) -> float:
        return root.blob.size

    @strawberry.field(graphql_type=UserType)
    def owner(self, root: strawberry.Parent[Embed]) -> User:
        return root.owner

    @strawberry.field(description="Where to fetch it, with no key, for about an hour.")
    def url(self, root: strawberry.Parent[Embed]) -> str:
        return signed_url(root.pk)
