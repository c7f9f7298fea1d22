"""Reading corpora in the background, run by Procrastinate."""

from procrastinate.contrib.django import app

from registry.corpora import indexing
from registry.corpora.actions import TASK


# Every 15 seconds: the sixth field is the seconds. What is deferred in between begins at once.
@app.periodic(cron="* * * * * */15")
@app.task(name=TASK, queueing_lock=TASK)
async def index_corpora(timestamp: int) -> None:
    """Reads the corpora that wait, and those whose reader died."""
    await indexing.index_waiting()
