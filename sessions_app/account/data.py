"""Everything that the site keeps about somebody, as a ZIP file that is made while it is sent.

Read in pages, each a short transaction of its own: what changes meanwhile is in the file as it was when its page was
read. Nothing holds more than one page, or one piece of a file.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from datetime import UTC, date, datetime
from itertools import chain
from mimetypes import guess_extension
from typing import Any, TypeVar

import orjson
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db.models import Exists, Model, OuterRef, QuerySet

from accounts.data_exports import end_export
from accounts.exports import line_of, table_of
from accounts.models import DataExport, User
from common.db import run_db_safely
from common.zips import Pieces, zipped
from embeds.files import PIECE, files, in_thread
from embeds.models import Embed
from registry.models import Agent, SampleQuery
from registry.usage import figures
from registry.usage.pages import csv_rows
from sessions_app.account.stored_values import stored_index, stored_values
from sessions_app.models import Session, SessionEmbed, SharedLink
from sessions_app.sharing import exporting
from sessions_app.sidebar.listing import listed, with_first_queries

M = TypeVar("M", bound=Model)
Part = tuple[str, Pieces]

PAGE = 100
FIRST_DAY = date(2000, 1, 1)
SESSION_COLUMNS = ("title", "file", "agent", "created", "last_asked")
ATTACHMENT_COLUMNS = ("name", "file", "content_type", "bytes", "created")
FORMAT = "fixie-account"
VERSION = 1

README = """What {site} keeps about {username}, as of {now:%Y-%m-%d %H:%M} UTC.

To read what you asked and were answered, look for it in sessions.csv, then open its .md file in sessions/ with any
editor of texts. Tables (.csv) open in a spreadsheet. What you deleted is not in here.

account.json        name, e-mail addresses, limits, connected sign-ins
keys.json           API keys: names and times; the keys themselves are not kept
organizations.json  the organizations you are in, and your role there
usage.csv           what you asked and used, by day (UTC) and agent; no agent: the day's total
credits.csv         what was granted to you and spent
sessions.csv        your conversations: their titles, when they were, and the name of their files
sessions/           each of them twice: as Markdown (.md) to read, as JSON for programs
attachments.csv     the files of your conversations: their names, and the file each is in here
attachments/        those files; a conversation's JSON names each by its id
links.json          conversations that you share by a link
storage.csv         what agents keep about you: agent, key, and the file it is in
storage/            those files
agents.json         the agents that you own, with their revisions and manifests
corrections.csv     questions that you asked another agent instead
"""


async def account_zip(user: User, export: DataExport) -> Pieces:
    """The file, piece by piece. `export` ends with it, also where the reader leaves."""
    try:
        async with aclosing(zipped(_parts(user))) as pieces:  # type: ignore[type-var]  # a generator, typed as less
            async for piece in pieces:
                yield piece
    finally:
        await run_db_safely(end_export, export=export.pk)


async def _parts(user: User) -> AsyncIterator[Part]:
    now = datetime.now(UTC)
    yield "README.txt", _one(README.format(site=settings.SITE_URL, username=user.username, now=now).encode())
    yield "account.json", _json(_account, user, now)
    yield "keys.json", _json(_keys, user)
    yield "organizations.json", _json(_organizations, user)
    yield "usage.csv", _csv(_usage, user)
    yield "credits.csv", _csv(_credits, user)
    sessions, attachments = _sessions_of(user), _attachments_of(user)
    yield "sessions.csv", _lines(sessions, _session_line, SESSION_COLUMNS)
    async for part in _sessions(sessions):
        yield part
    yield "attachments.csv", _lines(attachments, _attachment_line, ATTACHMENT_COLUMNS)
    async for embed in _each(attachments):
        yield _path_of(embed), _file(embed)
    yield "links.json", _json(_links, user)
    yield "storage.csv", _csv(stored_index, user)
    async for path, value in stored_values(user):
        yield path, _one(value)
    yield "agents.json", _agents(user)
    yield "corrections.csv", _csv(_corrections, user)


def _account(user: User, now: datetime) -> dict[str, Any]:
    names = ("username", "first_name", "last_name", "email", "date_joined", "last_login", "is_staff")
    limits = ("daily_query_limit", "daily_token_limit", "credits")
    return {
        "format": FORMAT,
        "version": VERSION,
        "exported": now,
        **{name: getattr(user, name) for name in (*names, *limits)},
        "email_addresses": list(EmailAddress.objects.filter(user=user).values("email", "verified", "primary")),
        "sign_ins": list(
            SocialAccount.objects.filter(user=user).values("provider", "uid", "date_joined", "last_login", "extra_data")
        ),
    }


def _keys(user: User) -> list[Any]:
    return list(user.api_keys.order_by("pk").values("id", "name", "created", "last_used", "revoked"))


def _organizations(user: User) -> list[Any]:
    mine = user.membership_set.order_by("organization__owner__handle")
    return list(mine.values("organization__owner__handle", "organization__name", "role"))


def _usage(user: User) -> Iterable[tuple[object, ...]]:
    return csv_rows(figures.usage_of(user, FIRST_DAY, datetime.now(UTC).date()))


def _credits(user: User) -> Iterable[tuple[object, ...]]:
    columns = ("created", "amount", "reason", "run")
    return chain([columns], user.credit_entries.order_by("pk").values_list(*columns).iterator())


def _links(user: User) -> list[Any]:
    links = SharedLink.objects.filter(session__owner=user).order_by("pk")
    return list(links.values("session__handle", "token", "last_seq", "created", "revoked"))


def _corrections(user: User) -> Iterable[tuple[object, ...]]:
    mine = SampleQuery.objects.filter(user=user).annotate(name=figures.name_of(Agent.objects.visible_to(user)))
    return chain([("created", "agent", "text")], mine.order_by("pk").values_list("created", "name", "text"))


def _sessions_of(user: User) -> "QuerySet[Session]":
    return with_first_queries(Session.objects.visible_to(user))


def _session_line(session: Session) -> tuple[object, ...]:
    shown = listed(session)
    return (shown.title, shown.handle, shown.agent, shown.created, shown.active)


async def _sessions(sessions: "QuerySet[Session]") -> AsyncIterator[Part]:
    async for session in _each(sessions):
        title = listed(session).title
        yield f"sessions/{session.handle}.json", exporting.as_json(session, title)
        yield f"sessions/{session.handle}.md", exporting.as_markdown(session, title)


def _attachments_of(user: User) -> "QuerySet[Embed]":
    """Without those of deleted sessions alone, which are still there for who undoes that."""
    used = SessionEmbed.objects.filter(embed=OuterRef("pk"))
    gone = Exists(used.filter(session__deleted__isnull=False)) & ~Exists(used.filter(session__deleted=None))
    return Embed.objects.filter(~gone, owner=user).select_related("blob")


def _attachment_line(embed: Embed) -> tuple[object, ...]:
    return (embed.name, _path_of(embed), embed.content_type, embed.blob.size, embed.created)


def _path_of(embed: Embed) -> str:
    return f"attachments/{embed.pk}{guess_extension(embed.content_type.partition(';')[0]) or '.bin'}"


async def _lines(
    rows: "QuerySet[M]", line: Callable[[M], tuple[object, ...]], columns: tuple[str, ...]
) -> AsyncIterator[bytes]:
    """A table of any length."""
    yield table_of([columns]).encode()
    async for row in _each(rows):
        yield line_of(line(row)).encode()


async def _agents(user: User) -> Pieces:
    """A JSON array; not the environments of programs, which are the site's."""
    before = b"["
    async for agent in _each(Agent.objects.filter(owner=user.owner_id)):
        yield before + await run_db_safely(_agent, agent)
        before = b","
    yield b"]\n" if before == b"," else b"[]\n"


def _agent(agent: Agent) -> bytes:
    about = ("handle", "name", "description", "more_info_url", "published", "enabled", "protocol")
    routing = ("capabilities", "priority", "queries")
    limits = ("daily_query_limit", "minute_query_limit", "daily_token_limit")
    of_revision = ("id", "deployment", "target", "transport", "metadata", "manifest", "state", "error", "created")
    return orjson.dumps(
        {
            **{name: getattr(agent, name) for name in (*about, *routing, *limits, "created", "modified")},
            "current_revision": agent.current_revision_id,
            "revisions": list(agent.revisions.order_by("pk").values(*of_revision)),
        }
    )


async def _each(rows: "QuerySet[M]") -> AsyncIterator[M]:
    """All of them, a page at a time, by their primary keys."""
    page = await run_db_safely(list, rows.order_by("pk")[:PAGE])
    while page:
        for row in page:
            yield row
        page = await run_db_safely(list, rows.filter(pk__gt=page[-1].pk).order_by("pk")[:PAGE])


async def _json(load: Callable[..., Any], *args: Any) -> Pieces:
    document = await run_db_safely(load, *args)
    yield orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


async def _csv(load: Callable[[User], Iterable[tuple[object, ...]]], user: User) -> Pieces:
    """A table of some thousand short rows, which a person has at most."""
    # Keys of storage are of agents' making: a spreadsheet must not compute them.
    yield await run_db_safely(lambda: table_of(load(user)).encode())


async def _file(embed: Embed) -> Pieces:
    try:
        file = await in_thread(files().get, embed.blob.path)
    except FileNotFoundError:  # removed since its row was read
        return
    try:
        while piece := await in_thread(file.read, PIECE):
            yield piece
    finally:
        await in_thread(file.close)


async def _one(content: bytes) -> Pieces:
    yield content
