"""Vectors from any server that speaks the OpenAI embeddings protocol."""

import asyncio
from collections.abc import Sequence
from functools import cache

import httpx2
import numpy as np
import openai
import structlog
from openai.types import CreateEmbeddingResponse

from common.errors import ModelUnavailable
from common.openai_client import OpenAIClients
from registry.routing.vectors import DIMENSIONS, Vectors, unit

log = structlog.get_logger()

BATCH = 64
# Servers refuse texts beyond their model's length; the meaning of a query is in its beginning.
MAX_CHARACTERS = 2000


class OpenAIEmbeddings:
    """One model of one server. `timeout` is a batch's, in seconds. Has an HTTP client for each event loop."""

    def __init__(self, *, base_url: str, api_key: str, model: str, timeout: float) -> None:
        self.name = model
        self._timeout = timeout
        self._clients = OpenAIClients(base_url=base_url, api_key=api_key, timeout=timeout, retries=1)
        self._takes_dimensions = True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text. Raises ModelUnavailable."""
        try:
            rows = [await self._batch(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        except (openai.OpenAIError, httpx2.HTTPError, ValueError, TimeoutError) as error:
            # What the server said is left out: it may quote the text or the key.
            log.warning("embeddings_failed", error=type(error).__name__, status=getattr(error, "status_code", None))
            raise ModelUnavailable("The embeddings server does not answer as it should.") from None
        return np.concatenate([np.empty((0, DIMENSIONS), np.float32), *rows])

    async def aclose(self) -> None:
        """Lets go of this event loop's connections."""
        await self._clients.aclose()

    async def _batch(self, texts: Sequence[str]) -> Vectors:
        # An empty input is refused by OpenAI's own server.
        inputs = [text[:MAX_CHARACTERS] or " " for text in texts]
        async with asyncio.timeout(self._timeout):
            try:
                rows = await self._ask(inputs, with_dimensions=self._takes_dimensions)
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                if not self._takes_dimensions:
                    raise
                # Older models have one length only. What is refused without the wish too had another reason.
                rows = await self._ask(inputs, with_dimensions=False)
                self._takes_dimensions = False
        return fitted(rows)

    async def _ask(self, inputs: list[str], *, with_dimensions: bool) -> Vectors:
        answer = await self._clients.client().embeddings.create(
            model=self.name,
            input=inputs,
            encoding_format="float",
            dimensions=DIMENSIONS if with_dimensions else openai.omit,
        )
        return _rows(answer, len(inputs))


def _rows(answer: CreateEmbeddingResponse, count: int) -> Vectors:
    """The vectors in the order of the inputs. The client checks no types: ValueError where they differ."""
    try:
        rows = np.array([item.embedding for item in sorted(answer.data, key=lambda item: item.index)], np.float32)
    except (AttributeError, TypeError):
        raise ValueError("not a list of embeddings") from None
    if rows.ndim != 2 or len(rows) != count or not rows.size or not np.isfinite(rows).all():
        raise ValueError("not a vector for each text")
    return rows


def fitted(rows: Vectors) -> Vectors:
    """Vectors of any length as the database has them: shorter ones get zeros, longer ones are projected.

    The projection is random and always the same one; it keeps a cosine to about 0.05 (Johnson and Lindenstrauss).
    """
    missing = DIMENSIONS - rows.shape[1]
    return unit(np.pad(rows, ((0, 0), (0, missing))) if missing >= 0 else rows @ _projection(rows.shape[1]))


@cache
def _projection(length: int) -> Vectors:
    return np.random.default_rng(length).standard_normal((length, DIMENSIONS), np.float32)
