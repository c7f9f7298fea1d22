"""What the built-in Funcs find in documents: an agent's corpora (query_corpus), a session's embeds (query_embed)."""

import asyncio
import re
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from django.conf import settings

from common.db import run_db_safely
from common.recent import Recent
from embeds.files import PIECE, files, in_thread
from registry.corpora.chunks import chunks
from registry.corpora.extraction import Unreadable, extract
from registry.corpora.passages import Found, best
from registry.corpora.search import Library, library_of, passages
from registry.routing.embedder import embed_query, embedder
from registry.routing.vectors import Vectors
from sessions_app.llm.passages import written
from sessions_app.models import SessionEmbed
from sessions_app.references import named

# So many passages go to the model.
PASSAGES = 5
# Of one embed so many passages are searched; embedding them takes seconds.
EMBED_PASSAGES = 500
# Embeds that were searched are kept ready, so many of them and for so many seconds.
KEPT, KEPT_SECONDS = 8, 300.0
REFERENCE = re.compile(r"(?<!#)#\w+")

NO_CORPORA = "This agent has no documents to look into."
NOTHING = "Nothing in the documents is about that."
# The original's words.
STARTING = "I'm still starting up. Please try again in a few minutes."


async def query_corpus(agent: int, question: str) -> str:
    """The passages of the agent's corpora that answer the question best, or why there are none. Raises
    ModelUnavailable."""
    library = await library_of(agent)
    if not library.corpora:
        return NO_CORPORA
    found = await passages(agent, question, library, PASSAGES) if question.strip() else []
    if not found:
        return _why_nothing(library)
    return f"{written(found)}\n\n({_progress(library)})" if library.unread else written(found)


def _progress(library: Library) -> str:
    return f"The documents are still being read; {library.documents} of them are there so far."


def _why_nothing(library: Library) -> str:
    if library.unread:
        return f"{STARTING} {_progress(library)}"
    if library.errors and not library.documents:
        return f"The documents of this agent could not be read. {library.errors[0]}"
    return NOTHING


async def query_embed(session_id: int, text: str, known: Collection[int]) -> str:
    """The passages of the session's embeds that `text` names (`When was it? #1`) which answer it best.

    Only those that are `known` count. Where it names none of them, the last one is meant. Says which cannot be read,
    and why. Raises ModelUnavailable.
    """
    question = REFERENCE.sub("", text).strip()
    sources = await run_db_safely(_sources, session_id, named(text), known)
    if not sources:
        return "There is no attached document to look into."
    found: list[Found] = []
    problems: list[str] = []
    for source in sources:
        try:
            found += await _found_in(source, question)
        except Unreadable as error:
            problems.append(f"#{source.key} cannot be read. {error.reason}")
    # Whoever attaches a document and asks "What is it about?" means it, however far that is from any passage.
    answers = [written(best(question, found, PASSAGES, least=-1.0))] if found else []
    return "\n\n".join([*answers, *problems])


@dataclass(frozen=True, slots=True)
class _Source:
    """An embed of a session under its key, and where its bytes are."""

    key: int
    content_type: str
    sha256: str
    path: str
    size: int


@dataclass(frozen=True, slots=True)
class _Document:
    """An embed ready to be searched: its passages and a vector for each."""

    texts: Sequence[str]
    vectors: Vectors
    expires: float


_kept: Recent[tuple[str, str, str], _Document] = Recent(KEPT)


def _sources(session_id: int, keys: Collection[int], known: Collection[int]) -> list[_Source]:
    embeds = SessionEmbed.objects.of(session_id, known).select_related("embed__blob").order_by("-key")
    found = list(embeds.filter(key__in=keys)[: settings.MESSAGE_MAX_EMBEDS]) or list(embeds[:1])
    return [
        _Source(one.key, one.embed.content_type, one.embed.blob.sha256, one.embed.blob.path, one.embed.blob.size)
        for one in reversed(found)
    ]


async def _found_in(source: _Source, question: str) -> list[Found]:
    """The passages of the embed. Raises Unreadable."""
    document = await _document(source)
    similarities = document.vectors @ await embed_query(question or "summary")
    return [
        Found(text, f"#{source.key}", "", source.key, position, float(similarity))
        for position, (text, similarity) in enumerate(zip(document.texts, similarities, strict=True))
    ]


async def _document(source: _Source) -> _Document:
    chosen = await embedder()
    key = (source.sha256, source.content_type, chosen.name)
    known = _kept.get(key)
    if known is not None and time.monotonic() < known.expires:
        return known
    texts = await _texts(source)
    document = _Document(texts, await chosen.embed(texts), time.monotonic() + KEPT_SECONDS)
    _kept.put(key, document)
    return document


async def _texts(source: _Source) -> list[str]:
    if source.size > settings.CORPUS_DOCUMENT_MAX_BYTES:
        raise Unreadable(f"It has more than {settings.CORPUS_DOCUMENT_MAX_BYTES} bytes.")
    content = await in_thread(_bytes, source.path)
    extracted = await extract(content, source.content_type, purpose="chats")
    return await asyncio.to_thread(chunks, extracted.text, most=EMBED_PASSAGES)


def _bytes(path: str) -> bytes:
    try:
        file = files().get(path)
    except FileNotFoundError:
        raise Unreadable("Its file is gone.") from None
    with closing(file):
        return b"".join(iter(partial(file.read, PIECE), b""))
