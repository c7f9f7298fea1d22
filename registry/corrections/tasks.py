"""Remembering corrections in the background: the embedder may take its time, and nobody waits for it."""

from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from common.errors import ModelUnavailable
from registry.corrections import remembering

PATIENCE = RetryStrategy(max_attempts=8, exponential_wait=2, retry_exceptions=[ModelUnavailable])


@app.task(name="registry.remember_correction", retry=PATIENCE)
async def remember_correction(user: int, agent: int, text: str) -> None:
    """`remembering.remember_correction`, again later where the embedder is away."""
    await remembering.remember_correction(user=user, agent=agent, text=text)
