"""Reading corpora in the background: their documents fetched, cut into passages, embedded and stored, one by one."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from dataclasses import dataclass

import structlog
from django.conf import settings

from accounts.tokens import asign_site_token
from common.db import may_pass, run_db, run_db_safely
from common.errors import FixieError, ModelUnavailable
from registry.corpora import rows
from registry.corpora.chunks import MAX_CHUNKS, chunks
from registry.corpora.crawl import crawl
from registry.corpora.documents import Limits, Read, Result, Stopped
from registry.corpora.funcs import auth_token_of, documents_of
from registry.corpora.rows import Begun, Claim, LostCorpus
from registry.routing.embedder import Embedder, embedder, in_use
from registry.transports.base import FuncCorpus

log = structlog.get_logger()

# A token outlives the reading that it is for by so many seconds.
SLACK = 60.0
SORRY = "Something went wrong on our side; it has been logged."


async def index_waiting() -> None:
    """Reads the corpora that wait, one after the other, then embeds anew those of another embedder.

    Others may do the same at the same time. A reading goes on where a process that died has left it.
    """
    if not await run_db(rows.is_any_waiting, in_use()):
        return  # before the embedder is loaded, which a site without corpora need not pay
    chosen = await embedder()
    while (begun := await run_db(rows.claim, chosen.name)) is not None:
        await _while_held(begun, _Reading(begun, chosen, Limits.of_settings()).read())
    while (held := await run_db(rows.claim_to_embed, chosen.name)) is not None:
        await _while_held(held, _embed_anew(held, chosen))


async def _while_held(held: Claim, work: Coroutine[None, None, None]) -> None:
    """Does the work for as long as the corpus is ours, and notes why it failed, where it did."""
    try:
        await _renewed(held, work)
    except asyncio.CancelledError:
        await run_db(rows.release, held)
        raise
    except LostCorpus:
        log.info("corpus_lost", corpus=held.corpus)
    except ModelUnavailable as error:
        await run_db(rows.postpone, held, error.message)
    except FixieError as error:
        await run_db(rows.fail, held, error.message)
    except Exception as error:
        if may_pass(error):
            # The database stayed away; somebody goes on when the lease has run out.
            log.warning("corpus_left", corpus=held.corpus, error=type(error).__name__)
        else:
            log.exception("corpus_crashed", corpus=held.corpus)
            await run_db(rows.fail, held, SORRY)


async def _renewed(held: Claim, work: Coroutine[None, None, None]) -> None:
    """Does the work and renews the lease meanwhile. Raises LostCorpus, and what the work raises."""
    working = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait([working], timeout=settings.CORPUS_LEASE_SECONDS / 3))[0]:
            if not await run_db_safely(rows.renew, held):
                raise LostCorpus
        await working
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of a corpus, perhaps not the first: what is done is not done again."""

    begun: Begun
    embedder: Embedder
    limits: Limits

    async def read(self) -> None:
        passages, reason = self.begun.passages, ""
        async with aclosing(await self._results()) as results:
            async for result in results:
                if isinstance(result, Stopped):
                    reason = result.reason
                elif not isinstance(result, Read):
                    await run_db_safely(rows.store, self.begun, result)
                else:
                    room = settings.CORPUS_MAX_CHUNKS - passages
                    found = await self._store(result, room)
                    passages += min(found, room)
                    if found > room:
                        reason = f"It has more than {settings.CORPUS_MAX_CHUNKS} passages; the rest is left out."
                        break
        await run_db_safely(rows.finish, self.begun, reason)

    async def _results(self) -> AsyncGenerator[Result]:
        begun, entry = self.begun, self.begun.entry
        # For no user: what a corpus holds is for all who may ask the agent.
        token = await asign_site_token(begun.agent_id, lifetime=self.limits.seconds + SLACK)
        if isinstance(entry, FuncCorpus):
            return documents_of(begun.target, entry.func, self.limits, token=token, done=begun.done)
        key = await auth_token_of(begun.target, entry.auth_token_func, token=token) if entry.auth_token_func else ""
        return crawl(entry.urls, entry.exclude_patterns, self.limits, token=key, done=begun.done)

    async def _store(self, document: Read, room: int) -> int:
        """Stores a document with its passages, as many as there is room for; returns how many it has (one more, where
        they are too many)."""
        texts = await asyncio.to_thread(chunks, document.text, most=min(MAX_CHUNKS, room + 1))
        kept = texts[:room]
        vectors = await self.embedder.embed(kept)
        if kept:
            await run_db_safely(rows.store, self.begun, document, kept, vectors)
        return len(texts)


async def _embed_anew(held: Claim, chosen: Embedder) -> None:
    found = await run_db(rows.texts_of, held)
    vectors = await chosen.embed([text for _, text in found])
    await run_db_safely(rows.embed_anew, held, chosen.name, [key for key, _ in found], vectors)
