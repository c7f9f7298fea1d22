"""Looking at what is at an address before an agent is registered there. Nothing is stored."""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.models import User
from common.db import run_db
from common.errors import FixieError, InvalidRequest, RateLimited
from common.http import Answer
from common.recent import Recent
from registry.actions import Reading, draft_agent
from registry.manifests.documents import read_document
from registry.manifests.few_shots import called_in, split_few_shots
from registry.manifests.lines import Source, lines_of, source_of
from registry.manifests.manifest import ReadManifest, manifest_as_dict
from registry.manifests.reading import read_address
from registry.specs import queries_in
from registry.transports.base import Manifest

# Of one user in each process: somebody who types an address has several read.
A_MINUTE = 30
USERS_KNOWN = 4096
MINUTE = 60.0
_looks: Recent[int, deque[float]] = Recent(USERS_KNOWN)
# No agent can have this handle: a token for it is good for nothing.
NOBODY = "-"
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


@dataclass(frozen=True, slots=True)
class Problem:
    """`line` is of the source; `few_shot` and `few_shot_line` say where in the few-shots; None: nowhere there."""

    message: str
    field: str | None
    line: int | None
    few_shot: int | None = None
    few_shot_line: int | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What is at `url`. `error` says why it cannot be used; then `manifest` and `transport` are None.

    `few_shots` are as they were sent, also where they cannot be used. `source` is None where no manifest came.
    """

    url: str
    transport: str | None = None
    error: FixieError | None = None
    problems: list[Problem] = field(default_factory=list)
    source: Source | None = None
    few_shots: list[str] = field(default_factory=list)
    manifest: Manifest | None = None

    @property
    def refused(self) -> bool:
        """It lets nobody in with such a token: it may want one for the name under which it is to be registered."""
        return self.error is not None and self.error.details.get("status") in _REFUSED

    @property
    def funcs(self) -> list[str]:
        return called_in(self.few_shots, "Func")

    @property
    def agents(self) -> list[str]:
        return called_in(self.few_shots, "Agent")

    @property
    def queries(self) -> list[str]:
        return queries_in(manifest_as_dict(self.manifest)) if self.manifest else []


async def look(user: User, url: str, *, protocol: str = "", owner: str = "", handle: str = "") -> Preview:
    """What is at `url`, read in the name of `user`.

    With `owner` (or the user) and `handle` it is read as the agent that they could register under this name now: those
    that check their tokens, as agents of the published package do, answer nothing but that.

    Raises RateLimited, and InvalidRequest naming `url` for an address that may not be called.
    """
    _count(user.pk)
    came: list[Answer] = []
    name = await run_db(_name, user, owner, handle)
    reading = await read_address(user.pk, name, url, protocol=protocol, field="url", seen=came.append)
    # Looking through a large manifest takes a moment: not on the loop that serves everybody else.
    return await asyncio.to_thread(_preview, reading, came[-1] if came else None)


def _name(user: User, owner: str, handle: str) -> str:
    """Whom the token is for. Never an agent that is there: what it keeps about the user is not for this address."""
    try:
        return draft_agent(by=user, owner=owner or None, handle=handle).agent_id
    except InvalidRequest:
        return f"{user.username}/{NOBODY}"


def _preview(reading: Reading, answer: Answer | None) -> Preview:
    source = source_of(answer.body) if answer else None
    few_shots = _few_shots(answer) if answer else []
    if isinstance(reading.result, ReadManifest):
        read = reading.result
        return Preview(reading.url, read.transport, source=source, few_shots=few_shots, manifest=read.manifest)
    error = reading.result
    problems = _problems(error, source) if source else []
    return Preview(reading.url, error=error, problems=problems, source=source, few_shots=few_shots)


def _few_shots(answer: Answer) -> list[str]:
    try:
        value = read_document(answer.body, answer.headers.get("content-type", "")).get("few_shots")
    except FixieError:
        return []
    if isinstance(value, str):
        return split_few_shots(value)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _problems(error: FixieError, source: Source) -> list[Problem]:
    details: list[dict[str, Any]] = error.details.get("problems", [])
    if not details:
        line = error.details.get("line")
        return [Problem(error.message, None, line)] if line else []
    lines = lines_of(source, details)
    return [_problem(problem, line) for problem, line in zip(details, lines, strict=True)]


def _problem(problem: dict[str, Any], line: int | None) -> Problem:
    if problem.get("few_shot"):
        return Problem(problem["reason"], "few_shots", line, problem["few_shot"], problem["line"])
    return Problem(f"{problem['field']} {problem['reason']}.", problem["field"], line)


def _count(user: int) -> None:
    now = time.monotonic()
    looks = _looks.get(user) or deque()
    while looks and looks[0] < now - MINUTE:
        looks.popleft()
    if len(looks) >= A_MINUTE:
        wait = max(1, round(looks[0] + MINUTE - now))
        raise RateLimited(
            _("You may look at %(limit)s addresses a minute. Please wait %(retry_after)s seconds."),
            limit=A_MINUTE,
            retry_after=wait,
        )
    looks.append(now)
    _looks.put(user, looks)
