"""Background work of lists: what can be searched for, and removing what was deleted."""

from procrastinate.contrib.django import app

from common.db import run_db
from sessions_app import actions
from sessions_app.sidebar import search

# So many sessions at a time; each removal is a transaction of its own.
REMOVED_AT_ONCE = 100


@app.periodic(cron="7,27,47 * * * *")
@app.task(name="prepare_search", queueing_lock="prepare_search")
async def prepare_search(timestamp: int) -> None:
    """Makes searchable what nobody has searched for yet, so that who does so need not wait."""
    while await search.prepare():
        pass


@app.periodic(cron="*/5 * * * *")
@app.task(name="remove_hidden_sessions", queueing_lock="remove_hidden_sessions")
async def remove_hidden_sessions(timestamp: int) -> None:
    """Removes for good what was deleted on pages and can no longer be restored."""
    while await run_db(actions.remove_hidden_sessions, at_most=REMOVED_AT_ONCE) == REMOVED_AT_ONCE:
        pass
