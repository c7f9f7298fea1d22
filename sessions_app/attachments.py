"""The embeds of a session: which keys are taken, and how embeds are shown to people and handed to agents."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from psycopg.errors import UniqueViolation

from common.db import run_db_safely
from embeds.links import signed_url
from embeds.models import Embed
from registry.transports.base import EmbedRef
from sessions_app import frames
from sessions_app.models import Message, SessionEmbed
from sessions_app.references import NO_EMBEDS, Embeds, named, placed

T = TypeVar("T")
Shown = dict[int, frames.Frame]


async def storing(
    text: str, own: Mapping[str, UUID], store: Callable[..., Awaitable[T]], **session: Any
) -> tuple[T, str, Embeds]:
    """Stores a message with its `own` embeds under keys of the session that `session` looks up.

    Calls `store` with `text` and `embeds` as they are to be stored, and again where another message took one of
    the keys meanwhile; returns what it returned, and these two.
    """
    while True:
        told, embeds = text, NO_EMBEDS
        if own or named(text):
            told, embeds = placed(text, own, await run_db_safely(_taken, **session))
        try:
            return await store(text=told, embeds=embeds), told, embeds
        except UniqueViolation as error:
            if error.diag.constraint_name != "one_embed_a_key":
                raise


def _taken(**session: Any) -> dict[int, UUID]:
    return dict(SessionEmbed.objects.filter(**session).values_list("key", "embed_id"))


def shown(session_id: int, keys: Collection[int]) -> Shown:
    """`{"id", "content_type", "size", "uri"}` of these embeds of the session, by key, with fresh links."""
    found = SessionEmbed.objects.of(session_id, keys).select_related("embed__blob") if keys else ()
    return {one.key: _shown(one.embed) for one in found}


def shown_with(session_id: int, messages: Iterable[Message]) -> Shown:
    """`shown`, of all embeds of these messages of the session; no query where they have none."""
    return shown(session_id, {key for message in messages for key in message.embed_keys})


async def ashown(session_id: int, keys: Collection[int]) -> Shown:
    """`shown`, without a query where there are no keys."""
    return await run_db_safely(shown, session_id, keys) if keys else {}


def _shown(embed: Embed) -> frames.Frame:
    return {
        "id": str(embed.pk),
        "content_type": embed.content_type,
        "size": embed.blob.size,
        "uri": signed_url(embed.pk),
    }


async def frame_of(session_id: int, keys: Collection[int]) -> frames.Frame:
    """The embeds of one message, for its frame."""
    return frames.embeds_frame(keys, await ashown(session_id, keys))


async def handed(session_id: int, keys: Collection[int], seconds: float) -> dict[str, EmbedRef]:
    """These embeds of the session as an agent gets them, with links that live for so many seconds."""
    return await run_db_safely(_handed, session_id, keys, seconds) if keys else {}


def _handed(session_id: int, keys: Collection[int], seconds: float) -> dict[str, EmbedRef]:
    found = SessionEmbed.objects.of(session_id, keys).order_by("key").values_list("key", "embed", "embed__content_type")
    return {str(key): EmbedRef(kind, signed_url(embed, lifetime=seconds)) for key, embed, kind in found}
