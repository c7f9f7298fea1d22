"""The only way an edge loads an embed for a caller."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models.functions import Now

from accounts.models import User
from common.errors import NotFound
from embeds.models import Embed


def embed_for(user: User, embed_id: UUID) -> Embed:
    """The user's own embed with its blob, in one query. Raises NotFound."""
    return _one_of(Embed.objects.filter(owner=user, pk=embed_id).select_related("blob").first())


def own_embeds(owner: int, ids: Sequence[UUID]) -> list[Embed]:
    """The owner's embeds `ids` with their blobs, in that order; NotFound names the first that is not theirs.

    All of them stay for another day at least, in which the caller may make rows that refer to them.
    """
    mine = Embed.objects.filter(owner=owner, pk__in=ids)
    mine.update(touched=Now())
    found = mine.select_related("blob").in_bulk()
    return [_one_of(found.get(each), each) for each in ids]


def _one_of(embed: Embed | None, embed_id: UUID | None = None) -> Embed:
    if embed is None:
        named = {} if embed_id is None else {"embed": str(embed_id)}
        raise NotFound("There is no such embed, or it is not yours.", field="embed", **named)
    return embed
