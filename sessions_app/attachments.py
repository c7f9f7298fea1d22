"""The embeds of a session: which keys are taken, and how embeds are shown to people and handed to agents."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar
from uuid import UUID

from psycopg.errors import UniqueViolation

from common.db import fetch_safely, run_db_safely
from embeds.links import signed_url
from embeds.models import Embed
from registry.transports.base import EmbedRef
from sessions_app import frames
from sessions_app.asked import IS_TRUSTED
from sessions_app.models import Message, SessionEmbed
from sessions_app.references import NO_EMBEDS, Embeds, named, others_named, placed

T = TypeVar("T")
Shown = dict[int, frames.Frame]


async def storing(
    text: str, own: Mapping[str, UUID], store: Callable[..., Awaitable[T]], *, run: UUID | None = None, **session: Any
) -> tuple[T, str, Embeds]:
    """Stores a message with its `own` embeds under keys of the session that `session` looks up.

    What an agent writes in its `run` has only those other embeds that the run knows; a user's has all that it names.
    Calls `store` with `text` and `embeds` as they are to be stored, and again where another message took one of
    the keys meanwhile; returns what it returned, and these two.
    """
    others = others_named(text, own) if run is not None else []
    hidden = {*others} - await known_of(run, others) if run is not None else set()
    while True:
        told, embeds = text, NO_EMBEDS
        if own or named(text):
            told, embeds = placed(text, own, await run_db_safely(_taken, **session), hidden)
        try:
            return await store(text=told, embeds=embeds), told, embeds
        except UniqueViolation as error:
            if error.diag.constraint_name != "one_embed_a_key":
                raise


def _taken(**session: Any) -> dict[int, UUID]:
    return dict(SessionEmbed.objects.filter(**session).values_list("key", "embed_id"))


# The messages of the run `p` and what was answered to it; of one at the top those of the same agent before it, too, and
# all of the session where that agent is the site's own or the user's: it is shown what was said there.
_KNOWN = f"""
SELECT DISTINCT unnest(m.embed_keys)
FROM sessions_app_run p JOIN sessions_app_message m ON m.session_id = p.session_id
    JOIN sessions_app_run r ON r.id = m.run_id
WHERE p.id = %(run)s AND m.embed_keys <> '{{}}' AND (p.parent_id IS NULL OR m.seq >= p.query_seq) AND (
    r.id = p.id OR (r.parent_id = p.id AND m.kind IN ('agent_call', 'agent_output'))
    OR (p.parent_id IS NULL AND r.parent_id IS NULL AND (r.agent_id = p.agent_id OR EXISTS (
        SELECT FROM registry_agent a JOIN accounts_owner w ON w.id = a.owner_id, sessions_app_session s
            JOIN accounts_user c ON c.id = s.owner_id
        WHERE a.id = p.agent_id AND s.id = p.session_id AND {IS_TRUSTED}))))"""


async def known(run: UUID) -> set[int]:
    """The embeds of its session that a run may look into and hand on: what a user gave to one agent is no other's."""
    return {key for (key,) in await fetch_safely(_KNOWN, {"run": run})}


async def known_of(run: UUID, keys: Collection[int]) -> set[int]:
    """Those of `keys` that the run knows; no statement where there are none."""
    return await known(run) & {*keys} if keys else set()


def shown(session_id: int, keys: Collection[int]) -> Shown:
    """`{"id", "content_type", "name", "size", "uri"}` of these embeds of the session, by key, with fresh links."""
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
        "name": embed.name,
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
