"""Background work: titles for sessions."""

import structlog
from procrastinate.contrib.django import app
from procrastinate.exceptions import ConnectorException

from sessions_app.runner.entitling import entitle

log = structlog.get_logger()


async def defer_title(session_id: int) -> None:
    """Asks for a title; where that cannot be done now, the session is called by its first query for good."""
    try:
        await entitle_session.defer_async(session=session_id)
    except ConnectorException as error:
        log.info("no_title", error=type(error).__name__)


@app.task(name="entitle_session")
async def entitle_session(session: int) -> None:
    """Has the language model give a session its title."""
    await entitle(session)
