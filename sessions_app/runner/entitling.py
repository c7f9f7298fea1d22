"""Titles that a language model gives to sessions after their first exchange."""

from contextlib import aclosing

import structlog
from django.conf import settings
from django.db import transaction

from common.db import run_db
from common.errors import ModelUnavailable
from sessions_app import frames
from sessions_app.llm.base import LanguageModel, ModelOptions, Prompt
from sessions_app.llm.catalog import language_model
from sessions_app.models import Message, Session
from sessions_app.runner.live import hub
from sessions_app.sidebar.search import note_title
from sessions_app.sidebar.titles import cleaned

log = structlog.get_logger()

# So much of the question and of the answer is shown to the model, in characters; it may write so many tokens.
SHOWN = 2_000
TOKENS = 40
ABOUT = """You give conversations a title. The question is the beginning of one, between a person and an assistant. \
Answer with its title alone: at most six words that say what it is about, in the language of the person, without \
quotes and without a full stop."""


def may_entitle(query_seq: int) -> bool:
    """Whether there is a model that can give a title to the session whose query number `query_seq` was answered."""
    return query_seq == 1 and settings.SESSION_TITLES and language_model().is_general


async def entitle(session_id: int) -> None:
    """Gives a session a title if it has neither that nor a name, and tells who follows it. What fails is let be."""
    found = await run_db(_exchange, session_id)
    if found is None:
        return
    handle, said = found
    try:
        title = cleaned(await _written(language_model(), said))
    except ModelUnavailable as error:
        log.info("no_title", session=handle, error=error.message)
        return
    if not title:
        return
    if await run_db(_store, session_id, title):
        hub().publish(session_id, frames.session_frame(handle=handle, title=title))


def _exchange(session_id: int) -> tuple[str, str] | None:
    """The session's handle, and how it began; None where it needs no title."""
    session = Session.objects.filter(pk=session_id, deleted=None, name="", title="").first()
    if session is None:
        return None
    said = Message.objects.filter(session=session, kind__in=("query", "response")).order_by("seq")
    texts = {message.kind: message.text[:SHOWN] for message in reversed(said[:2])}
    return session.handle, f"Person: {texts.get('query', '')}\n\nAssistant: {texts.get('response', '')}"


async def _written(model: LanguageModel, said: str) -> str:
    """What the model writes, as far as it may matter."""
    prompt = Prompt(base_prompt=ABOUT, few_shots=(), query=said)
    options = ModelOptions(temperature=0.0, max_tokens=TOKENS)
    async with aclosing(model.complete(prompt, options)) as pieces:
        return "".join([piece async for piece in pieces if isinstance(piece, str)])


def _store(session_id: int, title: str) -> bool:
    with transaction.atomic():
        # Its owner may have named or deleted it meanwhile.
        untitled = Session.objects.filter(pk=session_id, deleted=None, name="", title="")
        if not untitled.update(title=title):
            return False
        note_title(session_id)
    return True
