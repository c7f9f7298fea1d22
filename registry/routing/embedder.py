"""Which embedder this site uses: the configured server's model, MiniLM, or the stand-in where neither is there."""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Protocol

import numpy as np
import structlog
from django.conf import settings

from common.recent import Recent
from registry.routing import lexical, minilm
from registry.routing.vectors import DIMENSIONS, Vectors

log = structlog.get_logger()

# One thread for what is embedded in bulk, one for queries: these wait for a batch at most.
THREADS = 2
RECENT_QUERIES = 2048

# Yields the places of some of the texts and their rows, until all texts have had theirs.
Batches = Callable[[Sequence[str]], Iterator[tuple[list[int], Vectors]]]


class Embedder(Protocol):
    """Texts to vectors. The vectors of embedders with different names do not compare."""

    @property
    def name(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text, in order, without holding up the event loop. Raises ModelUnavailable."""
        ...

    async def aclose(self) -> None:
        """Lets go of what belongs to this event loop."""
        ...


class LocalEmbedder:
    """A model in this process: `batches` runs in threads, a batch at a time."""

    def __init__(self, name: str, batches: Batches) -> None:
        self.name = name
        self._batches = batches
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="embedder")

    async def embed(self, texts: Sequence[str]) -> Vectors:
        rows = np.empty((len(texts), DIMENSIONS), np.float32)
        batches = self._batches(texts)
        loop = asyncio.get_running_loop()
        while (batch := await loop.run_in_executor(self._threads, next, batches, None)) is not None:
            places, vectors = batch
            rows[places] = vectors
        return rows

    async def aclose(self) -> None:
        return None


async def embedder() -> Embedder:
    """The one shared embedder for the present settings. The first use loads the model, in a thread."""
    if settings.EMBEDDINGS_BASE_URL:
        return _server(
            settings.EMBEDDINGS_BASE_URL,
            settings.EMBEDDINGS_API_KEY,
            settings.EMBEDDINGS_MODEL,
            settings.EMBEDDINGS_TIMEOUT,
        )
    return await _of_this_process()


async def embedder_named(name: str) -> Embedder | None:
    """The embedder with this name; None where it can no longer be made, or the name is empty.

    A name that is none of ours is taken for another model of the configured server.
    """
    chosen = await embedder()
    if name == chosen.name:
        return chosen
    if name == lexical.NAME:
        return _stand_in()
    if name == minilm.NAME:
        found = await _of_this_process()
        return found if found.name == name else None
    if not name or not settings.EMBEDDINGS_BASE_URL:
        return None
    return _server(settings.EMBEDDINGS_BASE_URL, settings.EMBEDDINGS_API_KEY, name, settings.EMBEDDINGS_TIMEOUT)


async def embed_query(text: str, by: Embedder | None = None) -> Vectors:
    """The vector of one text; that of a recent one is remembered. Raises ModelUnavailable."""
    chosen = by or await embedder()
    # A digest, for the texts may be long.
    key = hashlib.sha256(f"{chosen.name}\0{text}".encode("utf-8", "replace")).digest()
    vector = _recent.get(key)
    if vector is None:
        vector = (await chosen.embed([text]))[0]
        _recent.put(key, vector)
    return vector


def in_use() -> str:
    """The name of the embedder in use, or that would be: for `/readyz`. Loads nothing."""
    if settings.EMBEDDINGS_BASE_URL:
        return str(settings.EMBEDDINGS_MODEL)
    if _local.loaded:
        return _local.loaded.name
    return minilm.NAME if minilm.folder() else lexical.NAME


async def close_embedder() -> None:
    """Lets go of this event loop's connections to the server, where there is one."""
    if settings.EMBEDDINGS_BASE_URL:
        await (await embedder()).aclose()


async def _of_this_process() -> LocalEmbedder:
    if _local.loaded is None:
        return await asyncio.to_thread(_local.load)
    return _local.loaded


@cache
def _server(base_url: str, api_key: str, model: str, timeout: float) -> Embedder:
    # The client library costs 0.7 s and 29 MB, which a site with a model of its own need not pay.
    from registry.routing.openai_embeddings import OpenAIEmbeddings

    return OpenAIEmbeddings(base_url=base_url, api_key=api_key, model=model, timeout=timeout)


class _Local:
    """The embedder of this process, loaded once however many ask for it at the same time."""

    def __init__(self) -> None:
        self.loaded: LocalEmbedder | None = None
        self._lock = Lock()

    def load(self) -> LocalEmbedder:
        with self._lock:
            self.loaded = self.loaded or _minilm_or_stand_in()
        return self.loaded


def _minilm_or_stand_in() -> LocalEmbedder:
    try:
        return LocalEmbedder(minilm.NAME, minilm.MiniLM.load().batches)
    except minilm.NoModel as reason:
        log.warning("no_embedding_model", reason=str(reason), instead="words in common, hashed")
        return _stand_in()


@cache
def _stand_in() -> LocalEmbedder:
    return LocalEmbedder(lexical.NAME, lexical.batches)


_local = _Local()
_recent: Recent[bytes, Vectors] = Recent(RECENT_QUERIES)
