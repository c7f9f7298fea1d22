"""Removing accounts that were closed, run by Procrastinate."""

from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from common.db import run_db
from sessions_app.account import deletion

# Somebody may bring something for the user in the very moment in which the user goes.
RETRIES = RetryStrategy(max_attempts=5, linear_wait=1)


@app.task(name=deletion.TASK, retry=RETRIES)
async def remove_account(user: int) -> None:
    """Removes everything of the closed account of this id."""
    await deletion.remove_account(user)


@app.periodic(cron="*/5 * * * *")
@app.task(name="sessions.remove_accounts", queueing_lock="sessions.remove_accounts")
async def remove_accounts(timestamp: int) -> None:
    """Has those accounts removed whose task died or failed."""
    await run_db(_remove_later, await run_db(deletion.unfinished_removals))


def _remove_later(users: list[int]) -> None:
    for user in users:
        deletion.remove_later(user)
