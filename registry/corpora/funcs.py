"""Corpora that an agent's own Func serves: the SDK's `CustomCorpus`, and the tokens of `auth_token_func`."""

import asyncio
import base64
import binascii
import hashlib
import re
from collections import deque
from collections.abc import AsyncGenerator, Collection, Iterator
from dataclasses import dataclass
from string import whitespace
from typing import Any

import orjson
from django.conf import settings

from common.errors import AgentInvalidResponse, FixieError
from common.http import client
from registry.corpora.documents import MAX_SOURCE, Budget, Limits, NotRead, Read, Result, Stopped, Unread
from registry.corpora.extracted import Unreadable, known_charset, media_type
from registry.corpora.extraction import extract
from registry.transports import wire
from registry.transports.base import AgentMessage, Call, Deployment
from registry.transports.code_shot import call_func

MAX_PARTITIONS = 10_000
MAX_NAME = 4096
# A value of JSON takes fifty times the memory of its `{},`, and while it is parsed nothing else of the site runs.
MAX_PARTS = 200_000
# How many times the bytes of a corpus all answers may have: in base64 a document is a third longer.
ANSWERS = 2
# Of an answer that says what went wrong so many bytes are read.
MAX_FAILURE = 64 * 1024
MAX_BEARER = 8 * 1024
TOKEN_SECONDS = 30.0

_BEARER = re.compile(r"[\x21-\x7e]+")


async def auth_token_of(target: str, func: str, *, token: str) -> str:
    """What the Func `func` of the agent at `target` says: the bearer token for the pages of a URL corpus.

    `token` is the call's own. Raises AgentFailed, AgentTimeout, AgentUnreachable, or AgentInvalidResponse where the
    answer cannot be a bearer token.
    """
    call = Call(AgentMessage(""), token=token, idempotency_key=f"auth-token/{func}", func=func, timeout=TOKEN_SECONDS)
    said = (await call_func(Deployment(target), call, func)).text.strip()
    if len(said) > MAX_BEARER or not _BEARER.fullmatch(said):
        raise AgentInvalidResponse(f"What Func[{func}] answers cannot be a bearer token.", func=func)
    return said


async def documents_of(
    target: str, func: str, limits: Limits, *, token: str, done: Collection[str] = ()
) -> AsyncGenerator[Result]:
    """All documents of the corpus Func `func` of the agent at `target`, partition by partition, page by page.

    `POST {target}/corpus/{func}` with `{"partition", "page_token"}` and the bearer `token`, which must live as long
    as `limits.seconds`. Never raises FixieError: a call or a document that fails is an `Unread` whose reason names
    the field, and `Stopped` comes last where a limit ended the reading. Sources in `done` are not yielded again.
    """
    reading = _Reading(target, func, limits, token, done)
    while reading.waiting:
        partition = reading.waiting.popleft()
        async for result in reading.partition(partition):
            yield result
            if isinstance(result, Stopped):
                return
    if reading.is_cut:
        yield Stopped(f"The corpus has more than {MAX_PARTITIONS} partitions; the rest was not read.")


@dataclass(frozen=True, slots=True)
class _Partition:
    """A part of the corpus that is read page by page; the first one has no name."""

    name: str | None
    first_page_token: str | None


@dataclass(frozen=True, slots=True)
class _Document:
    source: str
    content: bytes
    content_type: str
    encoding: str


class _Reading:
    """What is known of the partitions, and which are to be read next."""

    def __init__(self, target: str, func: str, limits: Limits, token: str, done: Collection[str]) -> None:
        self.waiting = deque([_Partition(None, None)])
        self.is_cut = False
        self._url = wire.func_url(wire.func_url(target, "corpus"), func)
        self._func = func
        self._token = token
        self._done = done
        self._budget = Budget(limits)
        self._known: set[str | None] = {None}
        self._sources: set[str] = set()
        self._answered = 0

    async def partition(self, partition: _Partition) -> AsyncGenerator[Result]:
        """The documents of all pages of a partition, whose answers may add partitions to those that wait."""
        tokens: set[bytes] = set()
        page_token = partition.first_page_token
        while True:
            if stopped := self._budget.exhausted() or self._said_enough():
                yield stopped
                return
            try:
                answer = await self._asked(partition.name, page_token)
                self._add(_partitions(answer))
                documents, page_token = _page(answer)
            except NotRead as error:
                yield error.of(self._name_of(partition))
                return
            for number, document in enumerate(documents):
                result = self._budget.exhausted() or await self._read(document, number, partition)
                if result is not None:
                    yield result
            if page_token is None:
                return
            if not _is_new(page_token, tokens):
                yield Unread(
                    self._name_of(partition), "The field `page.next_page_token` leads back to an earlier page."
                )
                return

    def _said_enough(self) -> Stopped | None:
        most = ANSWERS * self._budget.limits.total_bytes
        if self._answered < most:
            return None
        return Stopped(f"The agent's answers may have {most} bytes together; the rest was not read.")

    async def _asked(self, partition: str | None, page_token: str | None) -> dict[str, Any]:
        """One call of the Func. Raises NotRead."""
        limits = self._budget.limits
        self._budget.attempts += 1
        try:
            answer = await client().request(
                "POST",
                self._url,
                headers=_headers(self._token),
                content=orjson.dumps({"partition": partition, "page_token": page_token}),
                timeout=min(settings.AGENT_CALL_TIMEOUT, max(1.0, self._budget.seconds_left)),
                # A document of the largest size is a third longer in base64.
                max_bytes=2 * limits.document_bytes,
            )
            self._answered += len(answer.body)
            if answer.status >= 300:
                raise wire.failure_of(answer.status, answer.body[:MAX_FAILURE], func=self._func)
        except FixieError as error:
            raise NotRead(error.message) from error
        return _object(await asyncio.to_thread(_json, answer.body), "The answer")

    def _add(self, partitions: Iterator[_Partition]) -> None:
        """Each is read once, with the token that it was first given (the SDK's `CorpusPartition`)."""
        for partition in partitions:
            if partition.name in self._known:
                continue
            if len(self._known) > MAX_PARTITIONS:
                self.is_cut = True
                return
            self._known.add(partition.name)
            self.waiting.append(partition)

    async def _read(self, value: Any, number: int, partition: _Partition) -> Read | Unread | None:
        source = self._source(value, f"{self._name_of(partition)}, document {number + 1}")
        self._budget.attempts += 1
        if source in self._done:
            self._budget.documents += 1
            return None
        field = f"page.documents[{number}]"
        try:
            document = await asyncio.to_thread(_document, value, source, field, self._budget.limits.document_bytes)
            self._budget.bytes += len(document.content)
            extracted = await extract(
                document.content, document.content_type, url=document.source, encoding=document.encoding
            )
        except NotRead as error:
            return error.of(source)
        except Unreadable as error:
            return Unread(source, error.reason)
        self._budget.documents += 1
        return Read(source, extracted.text, extracted.title, media_type(document.content_type), len(document.content))

    def _source(self, value: Any, default: str) -> str:
        """A document's name, made one that no other document has, and always the same."""
        said = value.get("source_name") if isinstance(value, dict) else None
        name = wire.clean(said)[: MAX_SOURCE - 20] if isinstance(said, str) and said.strip() else default
        source, number = name, 2
        while source in self._sources:
            source, number = f"{name} ({number})", number + 1
        self._sources.add(source)
        return source

    def _name_of(self, partition: _Partition) -> str:
        name = f"Func[{self._func}]"
        return name if partition.name is None else f"{name}, partition {wire.clean(partition.name)[:1000]}"


def _headers(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}", "content-type": "application/json", "accept": "application/json"}


def _json(body: bytes) -> Any:
    if sum(body.count(sign) for sign in (b",", b"[", b"{")) > MAX_PARTS:
        raise NotRead("The agent's answer has too many parts.")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise NotRead("The agent's answer is not JSON.") from None


def _wrong(field: str, problem: str) -> NotRead:
    return NotRead(f"The field `{field}` in the agent's answer {problem}.")


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise NotRead(f"{name} of the agent is not a JSON object.")
    return value


def _text(value: Any, field: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_NAME:
        raise _wrong(field, f"is not a string of at most {MAX_NAME} characters")
    return value


def _list(value: Any, field: str) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _wrong(field, "is not a list")
    return value


def _partitions(answer: dict[str, Any]) -> Iterator[_Partition]:
    for number, value in enumerate(_list(answer.get("partitions"), "partitions")):
        field = f"partitions[{number}]"
        if not isinstance(value, dict) or value.get("partition") is None:
            raise _wrong(field, "is not an object with the string `partition`")
        name = _text(value["partition"], f"{field}.partition")
        yield _Partition(name, _text(value.get("first_page_token"), f"{field}.first_page_token"))


def _page(answer: dict[str, Any]) -> tuple[list[Any], str | None]:
    """The documents of the page, yet unread, and the token of the next one."""
    page = answer.get("page")
    if page is None:
        return [], None
    if not isinstance(page, dict):
        raise _wrong("page", "is not an object")
    documents = _list(page.get("documents"), "page.documents")
    return documents, _text(page.get("next_page_token"), "page.next_page_token")


def _document(value: Any, source: str, field: str, most: int) -> _Document:
    if not isinstance(value, dict):
        raise _wrong(field, "is not an object")
    if not isinstance(value.get("source_name"), str):
        raise _wrong(f"{field}.source_name", "is not a string")
    content = value.get("content")
    if not isinstance(content, str):
        raise _wrong(f"{field}.content", "is not a string")
    try:
        data = base64.b64decode(content.encode().translate(None, whitespace.encode()), validate=True)
    except (binascii.Error, ValueError):
        raise _wrong(f"{field}.content", "is not base64") from None
    if len(data) > most:
        raise _wrong(f"{field}.content", f"is larger than {most} bytes")
    encoding = _text(value.get("encoding"), f"{field}.encoding") or ""
    if encoding and not known_charset(encoding):
        raise _wrong(f"{field}.encoding", "is not the name of an encoding")
    return _Document(source, data, _text(value.get("mime_type"), f"{field}.mime_type") or "text/plain", encoding)


def _is_new(page_token: str, tokens: set[bytes]) -> bool:
    """Whether a partition has not had this token before; remembers it, by its hash."""
    digest = hashlib.sha256(page_token.encode("utf-8", "replace")).digest()
    is_new = digest not in tokens
    tokens.add(digest)
    return is_new
