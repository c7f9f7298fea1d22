"""A whole session as a file: JSON for programs, Markdown for people. Streamed, in pages, however long it is."""

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
from django.db.models.functions import Coalesce
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

from common.db import run_db_safely
from common.filenames import safe_filename
from embeds.schemas import embed_out
from sessions_app.frames import Frame
from sessions_app.models import Run, Session
from sessions_app.sharing.markdown_export import Document
from sessions_app.transcript import PAGE, messages_after, run_frames

FORMAT = "fixie-session"
VERSION = 1
FILENAME_MAX = 80
CONTENT_TYPES = {"json": "application/json", "md": "text/markdown; charset=utf-8"}


def download(session: Session, title: str, kind: str) -> StreamingHttpResponse:
    """The session as a file to save; `kind` is `json` or `md`. Its front agent is loaded."""
    pieces = as_json(session, title) if kind == "json" else as_markdown(session, title)
    return StreamingHttpResponse(
        pieces,
        content_type=CONTENT_TYPES[kind],
        headers={
            "Content-Disposition": content_disposition_header(True, filename(title, kind)) or "attachment",
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )


def filename(title: str, kind: str) -> str:
    """A name that every system takes, made of a title."""
    return f"{safe_filename(title, max_length=FILENAME_MAX) or 'conversation'}.{kind}"


async def as_json(session: Session, title: str) -> AsyncIterator[bytes]:
    """The document of docs/wire.md, "The file of a session", piece by piece."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "exported": datetime.now(UTC),
        "session": {
            "handle": session.handle,
            "title": title,
            "name": session.name,
            "description": session.description,
            "agent": _agent_of(session),
            "created": session.created,
            "last_seq": session.last_seq,
        },
    }
    yield orjson.dumps(head)[:-1] + b',"messages":['
    runs: dict[str, None] = {}
    first = True
    async for page in _pages(session):
        runs |= dict.fromkeys(message["run"] for message in page)
        yield _joined(page, first=first)
        first = False
    yield b'],"runs":['
    ids = [UUID(run) for run in runs]
    for start in range(0, len(ids), PAGE):
        frames = await run_frames(ids[start : start + PAGE])
        yield _joined([{k: v for k, v in frame.items() if k != "type"} for frame in frames], first=start == 0)
    yield b'],"embeds":['
    yield _joined(await run_db_safely(_embeds, session), first=True)
    yield b"]}\n"


async def as_markdown(session: Session, title: str) -> AsyncIterator[bytes]:
    """The conversation to be read, turn by turn."""
    document = Document()
    yield document.head(title, _agent_of(session), session.created).encode()
    async for page in _pages(session):
        tops = await run_db_safely(_tops, {message["run"] for message in page})
        text = [piece for message in page for piece in document.add(message, tops[message["run"]])]
        yield "".join(text).encode()
    yield "".join(document.end()).encode()


async def _pages(session: Session) -> AsyncIterator[list[Frame]]:
    """The messages that the session had when it was loaded."""
    since = 0
    while since < session.last_seq:
        found = [frame["message"] for frame in await messages_after(session.pk, since)]
        if not found:  # deleted meanwhile
            return
        since = found[-1]["seq"]
        yield [message for message in found if message["seq"] <= session.last_seq]


def _tops(runs: Iterable[str]) -> dict[str, str]:
    """The run at the top of each run's tree."""
    found = Run.objects.filter(pk__in=runs).values_list("pk", Coalesce("root_id", "pk"))
    return {str(run): str(top) for run, top in found}


def _embeds(session: Session) -> list[dict[str, Any]]:
    found = session.embeds.order_by("key").select_related("embed__blob")
    return [{"key": each.key, **embed_out(each.embed).dict()} for each in found]


def _agent_of(session: Session) -> str | None:
    return session.agent.agent_id if session.agent else None


def _joined(items: Sequence[dict[str, Any]], *, first: bool) -> bytes:
    """The items of a list of which some may stand there already."""
    return (b"" if first or not items else b",") + b",".join(orjson.dumps(item) for item in items)
