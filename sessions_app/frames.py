"""Messages and runs as every client sees them, over sockets, server-sent events, REST and in pages."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from common.errors import error_of
from sessions_app.models import Message, Run

Frame = dict[str, Any]


def message_frame(
    *,
    seq: int,
    kind: str,
    text: str,
    run: UUID,
    agent: str | None,
    in_reply_to: int | None,
    created: datetime,
    embeds: Frame,
) -> Frame:
    """One message as every client sees it. `embeds` are as `embeds_frame` shows them."""
    return {
        "type": "message",
        "message": {
            "seq": seq,
            "kind": kind,
            "text": text,
            "run": str(run),
            "agent": agent,
            "in_reply_to": in_reply_to,
            "created": created.isoformat(),
            "embeds": embeds,
        },
    }


def embeds_frame(keys: Collection[int], shown: Mapping[int, Frame]) -> Frame:
    """The embeds with these keys, of those that `attachments.shown` has found for several messages at once."""
    return {str(key): shown[key] for key in keys if key in shown}


def frame_of_message(message: Message, shown: Mapping[int, Frame]) -> Frame:
    """The same of a row, loaded with `agent__owner`; `shown` has the embeds of its keys."""
    return message_frame(
        seq=message.seq,
        kind=message.kind,
        text=message.text,
        run=message.run_id,
        agent=message.agent.agent_id if message.agent else None,
        in_reply_to=message.in_reply_to,
        created=message.created,
        embeds=embeds_frame(message.embed_keys, shown),
    )


@dataclass(frozen=True, slots=True)
class Times:
    """When a run was asked for, begun and over; None where that has not happened, or whoever tells does not know."""

    created: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None


UNKNOWN = Times()


def run_frame(
    *,
    run: UUID,
    status: str,
    query: int,
    agent: str | None,
    error_code: str = "",
    parent: UUID | None = None,
    times: Times = UNKNOWN,
    tokens: int = 0,
) -> Frame:
    """The state of a run as every client sees it. `query` is the seq of the message it answers.

    `parent` is the run that asks, where an agent asks another; `tokens` is 0 where it is not known what it used.
    What went wrong is told in words by the run's `error` message; here stands what a program needs to know.
    """
    error = {"code": error_code, "retryable": error_of(error_code, "").retryable} if error_code else None
    return {
        "type": "run",
        "run": str(run),
        "status": status,
        "query": query,
        "agent": agent,
        "parent": str(parent) if parent else None,
        "error": error,
        "created": _told(times.created),
        "started": _told(times.started),
        "finished": _told(times.finished),
        "tokens": tokens or None,
    }


def _told(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def frame_of_run(run: Run) -> Frame:
    """The same of a row, loaded with `agent__owner`."""
    agent = run.agent.agent_id if run.agent else None
    return run_frame(
        run=run.pk,
        status=run.status,
        query=run.query_seq,
        agent=agent,
        error_code=run.error_code,
        parent=run.parent_id,
        times=Times(run.created, run.started, run.finished),
        tokens=run.prompt_tokens + run.completion_tokens,
    )


def session_frame(*, handle: str, title: str | None = None, deleted: bool = False) -> Frame:
    """What has become of the session itself: its new `title`, or that it is `deleted`, after which nothing comes."""
    return {"type": "session", "session": handle, "title": title, "deleted": deleted}
