"""Which sessions part from each other at a query: branches of one session, and the session that they left.

A session's `branched_from` and `branch_seq` name the query that its own first query is another one of, in the session
where that query was first asked, never in a copy of it: so all versions of a query name the same one. Copied queries
keep their numbers; the first one of a branch's own may stand later than `branch_seq`, after answers that came while
that query was waiting.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.db import connection
from django.db.models import OuterRef, Subquery

from sessions_app.models import Run, Session

_OWN_SEQ = """
CASE WHEN s.branch_seq IS NOT NULL THEN (
    SELECT min(r.query_seq) FROM sessions_app_run r
    WHERE r.session_id = s.id AND r.parent_id IS NULL AND NOT r.copied) END"""
_COLUMNS = f"s.id, s.handle, s.created, s.deleted IS NULL, s.branched_from_id, s.branch_seq, {_OWN_SEQ}"
_LINE = f"""
WITH RECURSIVE line(id, handle, created, is_there, branched_from, branch_seq, own_seq, depth) AS (
    SELECT {_COLUMNS}, 0 FROM sessions_app_session s WHERE s.id = %s
    UNION ALL
    SELECT {_COLUMNS}, line.depth + 1 FROM line JOIN sessions_app_session s ON s.id = line.branched_from
)
SELECT id, handle, created, is_there, branch_seq, own_seq FROM line ORDER BY depth"""  # noqa: S608  # our own constants

_PASSED_ON = f"""
WITH heir AS (
    SELECT DISTINCT ON (s.branch_seq) s.id, s.branch_seq, {_OWN_SEQ} AS own_seq
    FROM sessions_app_session s WHERE s.branched_from_id = %(session)s
    ORDER BY s.branch_seq, s.deleted IS NOT NULL, s.created, s.id
)
UPDATE sessions_app_session s SET branched_from_id = heir.id, branch_seq = heir.own_seq
FROM heir WHERE s.branched_from_id = %(session)s AND s.branch_seq = heir.branch_seq AND s.id <> heir.id
    AND heir.own_seq IS NOT NULL"""  # noqa: S608  # our own constants


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A session, or one that it comes from. `own_seq` is its first query that is no copy, if it is a branch."""

    id: int
    handle: str
    created: datetime
    is_there: bool
    branch_seq: int | None
    own_seq: int | None


@dataclass(frozen=True, slots=True)
class _Version:
    """A session in which a query was asked, and the query's number there."""

    id: int
    handle: str
    created: datetime
    seq: int


def line_of(session: Session) -> list[Ancestor]:
    """The session, the one it branched from, and so on."""
    if session.branched_from_id is None:
        return [Ancestor(session.pk, session.handle, session.created, session.deleted is None, None, None)]
    with connection.cursor() as cursor:
        cursor.execute(_LINE, [session.pk])
        return [Ancestor(*row) for row in cursor.fetchall()]


def origin_of(session: Session, seq: int) -> tuple[int, int]:
    """The id of the session in which query `seq` of `session` was first asked, in any words, and its number there."""
    line = line_of(session)
    for branch, source in pairwise(line):
        assert branch.own_seq is not None
        assert branch.branch_seq is not None
        if seq == branch.own_seq:
            return source.id, branch.branch_seq
        if seq > branch.own_seq:
            return branch.id, seq
    return line[-1].id, seq


def branches_of(session: Session) -> dict[int, list[dict[str, Any]]]:
    """`[{session, seq, created, current}]` by the number of the query at which sessions part, the first one first.

    `seq` is the number that the query has in that session. In one statement for a session that is no branch, else
    in two. Deleted ones are left out.
    """
    line = line_of(session)
    branches = _branches_of([ancestor.id for ancestor in line])
    found: dict[int, list[dict[str, Any]]] = {}
    way: Ancestor | None = None  # by which `session` comes from `source`
    for source in line:
        for seq, parting in branches[source.id].items():
            place = _place(seq, way)
            if place is not None:
                on_the_way = way if way is not None and seq == way.branch_seq else source
                asked = [_Version(source.id, source.handle, source.created, seq)] if source.is_there else []
                shown = _Version(on_the_way.id, on_the_way.handle, on_the_way.created, place)
                found[place] = _versions(session, source.id, asked + parting, shown)
        way = source
    return {seq: versions for seq, versions in sorted(found.items()) if len(versions) > 1}


def _branches_of(sources: list[int]) -> dict[int, dict[int, list[_Version]]]:
    """The branches of these sessions by the session and the number of the query that they left at."""
    asked = Run.objects.filter(session=OuterRef("pk"), parent=None, copied=False).order_by("query_seq")
    found = Session.objects.filter(branched_from__in=sources, deleted=None).order_by("created", "pk")
    columns = ("branched_from_id", "branch_seq", "pk", "handle", "created", "own_seq")
    branches: dict[int, dict[int, list[_Version]]] = defaultdict(lambda: defaultdict(list))
    for source, seq, *version in found.annotate(own_seq=Subquery(asked.values("query_seq")[:1])).values_list(*columns):
        branches[source][seq].append(_Version(*version))
    return branches


def pass_on(session: Session) -> None:
    """Before a session goes for good: the oldest branch at each of its queries takes its place for the others there."""
    with connection.cursor() as cursor:
        cursor.execute(_PASSED_ON, {"session": session.pk})


def _place(seq: int, way: Ancestor | None) -> int | None:
    """Where query `seq` stands in a session that comes by `way`; None where that has left before it."""
    if way is None or way.branch_seq is None or seq < way.branch_seq:
        return seq
    return way.own_seq if seq == way.branch_seq else None


def _versions(session: Session, source: int, versions: list[_Version], shown: _Version) -> list[dict[str, Any]]:
    """The sessions that part at one query. The one that `session` shows is `session` itself."""
    if all(version.id != shown.id for version in versions):
        versions.append(shown)
    versions.sort(key=lambda version: (version.id != source, version.created))
    return [
        {
            "session": session.handle if version.id == shown.id else version.handle,
            "seq": shown.seq if version.id == shown.id else version.seq,
            "created": version.created.isoformat(),
            "current": version.id == shown.id,
        }
        for version in versions
    ]
