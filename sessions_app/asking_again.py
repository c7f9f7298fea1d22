"""Asking somebody else: the query of a run once more, of another agent, which the Router learns from."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from accounts.auth import Caller, user_of
from common.db import run_db
from common.errors import NotFound
from common.handles import parse_uuid, split_address, split_agent_id
from registry.access import agent_for
from registry.corrections.tasks import remember_correction
from registry.models import Agent
from sessions_app.models import Message, Run, Session, SessionEmbed
from sessions_app.posting import Posted, post


@dataclass(frozen=True, slots=True)
class Asked:
    """A query that was asked: `text` without the agent it was addressed to, and its embeds by their keys.

    `corrects` tells whether to ask `agent` (an id) too is a correction: it is none of those that answered.
    """

    session: str
    text: str
    embeds: Mapping[str, UUID]
    agent: int
    corrects: bool


async def ask_again(caller: Caller, run: str, agent: str, *, client_id: str | None = None) -> Posted:
    """Posts the query of a run of the caller's again, to `agent` (`owner/handle`), in the same session.

    If it is not one of the agents that answered, the Router will send this user's queries like this one there. Raises
    NotFound naming `run` or `agent`, and as `post` does; then nothing is kept.
    """
    name = split_agent_id(agent)
    asked = await run_db(_asked, caller, run, name)
    posted = await post(caller, asked.session, asked.text, agent=name, embeds=asked.embeds, client_id=client_id)
    if asked.corrects and not posted.again:
        await remember_correction.defer_async(user=caller.user_id, agent=asked.agent, text=asked.text)
    return posted


def _asked(caller: Caller, run_id: str, name: tuple[str, str]) -> Asked:
    user = user_of(caller)
    # A run below another one answers an agent, not a person.
    runs = Run.objects.filter(session__in=Session.objects.visible_to(user), parent=None).select_related("session")
    run = runs.filter(pk=parse_uuid(run_id) or UUID(int=0)).first()
    if run is None:
        raise NotFound("There is no such run, or it is not yours.", field="run")
    agent = agent_for(user, *name)
    text, embeds = question_of(run)
    return Asked(
        session=run.session.handle,
        text=text,
        embeds=embeds,
        agent=agent.pk,
        corrects=agent.pk not in _answered(run) and not _is_front(agent),
    )


def question_of(run: Run) -> tuple[str, dict[str, UUID]]:
    """The query of a run, without the agent that it was addressed to, and its embeds by their keys."""
    query = Message.objects.get(session=run.session_id, seq=run.query_seq)
    embeds = SessionEmbed.objects.of(run.session_id, query.embed_keys).values_list("key", "embed_id")
    return split_address(query.text)[1], {str(key): embed for key, embed in embeds}


def _answered(run: Run) -> set[int | None]:
    """The agent of a run and those that it asked, if it is the front agent's."""
    return {run.agent_id, *Run.objects.filter(parent=run.pk, session=run.session_id).values_list("agent_id", flat=True)}


def _is_front(agent: Agent) -> bool:
    """Whether it only sends queries to others, so that none may be sent to it."""
    return agent.current_revision is not None and agent.current_revision.transport == "front"
