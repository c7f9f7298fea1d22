"""Copying the beginning of a session into a new one: what branches, and readers of a shared one, go on from."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from common.errors import NotFound, SessionBusy
from common.ids import uuid7
from sessions_app.access import MISSING
from sessions_app.actions import UNFINISHED, insert_session
from sessions_app.models import Run, Session

# Against being deleted meanwhile; queries are accepted as ever.
_HELD = "SELECT FROM sessions_app_session WHERE id = %(source)s AND deleted IS NULL FOR KEY SHARE"

# All messages of these runs, in order. Those before the first query that is left out are gapless as they are and keep
# their numbers; only what came while that query waited for its turn moves up. Embeds that stand in no message
# that is copied stay behind, and so do agents' contexts, which know what was said later.
_COPIED = """
WITH copy AS (
    SELECT * FROM unnest(%(old)s::uuid[], %(new)s::uuid[]) AS copy(old, new)
), kept AS MATERIALIZED (
    SELECT m.seq AS old_seq, row_number() OVER (ORDER BY m.seq) AS seq, copy.new AS run, m.kind, m.text, m.agent_id,
        m.embed_keys, m.in_reply_to, m.created
    FROM sessions_app_message m JOIN copy ON copy.old = m.run_id WHERE m.session_id = %(source)s
), runs AS (
    INSERT INTO sessions_app_run (id, session_id, agent_id, query_seq, status, step, parent_id, root_id, parent_step,
        chain, agent_calls, error_code, prompt_tokens, completion_tokens, copied, created, started, finished)
    SELECT copy.new, %(into)s, r.agent_id, kept.seq, r.status, r.step, parent.new, root.new, r.parent_step,
        r.chain, r.agent_calls, r.error_code, CASE WHEN %(is_theirs)s THEN r.prompt_tokens ELSE 0 END,
        CASE WHEN %(is_theirs)s THEN r.completion_tokens ELSE 0 END, true, r.created, r.started, r.finished
    FROM copy JOIN sessions_app_run r ON r.id = copy.old JOIN kept ON kept.old_seq = r.query_seq
        LEFT JOIN copy parent ON parent.old = r.parent_id LEFT JOIN copy root ON root.old = r.root_id
), messages AS (
    INSERT INTO sessions_app_message (session_id, seq, run_id, kind, text, agent_id, embed_keys, in_reply_to, created)
    SELECT %(into)s, k.seq, k.run, k.kind, k.text, k.agent_id, k.embed_keys, query.seq, k.created
    FROM kept k LEFT JOIN kept query ON query.old_seq = k.in_reply_to
), embeds AS (
    INSERT INTO sessions_app_sessionembed (session_id, key, embed_id)
    SELECT %(into)s, e.key, COALESCE(own.new, e.embed_id)
    FROM sessions_app_sessionembed e
        LEFT JOIN unnest(%(embeds)s::uuid[], %(own_embeds)s::uuid[]) AS own(old, new) ON own.old = e.embed_id
    WHERE e.session_id = %(source)s AND e.key IN (SELECT unnest(embed_keys) FROM kept)
)
UPDATE sessions_app_session SET last_seq = (SELECT count(*) FROM kept) WHERE id = %(into)s RETURNING last_seq"""


@transaction.atomic
def copy_session(
    source: Session, *, before: int, own_embeds: Mapping[UUID, UUID] | None = None, **fields: Any
) -> Session:
    """A new session with `fields` and copies of all that belongs to the queries of `source` numbered below `before`.

    What is not in `fields` is as in `source`; but what its runs used stays its owner's affair.
    Its runs are `copied` and have ids of their own, of the time when the work was done. Embeds keep their keys;
    `own_embeds` has those that others take the place of. The cost in statements does not depend on the length.
    Raises NotFound where `source` is gone, SessionBusy where one of these queries is not answered yet.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HELD, {"source": source.pk})
        if not cursor.rowcount:
            raise NotFound(MISSING, field="session")
        runs = _runs_before(source, before)
        own_fields = {"agent_id": source.agent_id, "name": source.name, "description": source.description}
        into = insert_session(**{**own_fields, **fields})
        own = own_embeds or {}
        params: dict[str, Any] = {
            "source": source.pk,
            "into": into.pk,
            "is_theirs": into.owner_id == source.owner_id,
            "old": list(runs),
            "new": [uuid7(at=created) for created in runs.values()],
            "embeds": list(own),
            "own_embeds": list(own.values()),
        }
        cursor.execute(_COPIED, params)
        [into.last_seq] = cursor.fetchone()
    return into


def _runs_before(source: Session, before: int) -> dict[UUID, datetime]:
    """When each run of the trees of these queries was created. What has ended is not written to any more."""
    top_query = Coalesce(F("root__query_seq"), F("query_seq"))
    runs = Run.objects.filter(session=source).annotate(top_query=top_query).filter(top_query__lt=before)
    found = list(runs.values_list("pk", "created", "status"))
    if any(status in UNFINISHED for *__, status in found):
        raise SessionBusy(_("What comes before this is still being answered. Wait for it, or stop it."), field="seq")
    return {run: created for run, created, __ in found}
