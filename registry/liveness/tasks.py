"""Checking whether agents answer, in the background: every worker takes its share."""

import asyncio

import structlog
from django.conf import settings
from django.db.models import Q
from procrastinate.contrib.django import app

from accounts.models import User
from accounts.tokens import CallClaims, asign_call_token
from common.db import run_db
from common.errors import AgentInvalidResponse, FixieError
from registry.liveness import checks
from registry.manifests.manifest import READ_SECONDS, ReadManifest
from registry.manifests.reading import TOKEN_SECONDS, read_for, record
from registry.models import Agent, Revision
from registry.specs import says_the_same
from registry.transports.base import AgentMessage, Call, Deployment, reply_of
from registry.transports.catalog import transport

log = structlog.get_logger()

TICK_SECONDS = 30


# Twice a minute: the sixth field is the seconds.
@app.periodic(cron="* * * * * */30")
@app.task(name="registry.check_agents", queueing_lock="registry.check_agents")
async def check_agents(timestamp: int) -> None:
    """Checks the agents whose turn it is. What is left after half a minute is the next one's."""
    await run_db(checks.take_up)
    await check_due()


async def check_due() -> None:
    """Checks agents, `LIVENESS_AT_ONCE` at a time, until none is due or half a minute is over."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + TICK_SECONDS
    turns = asyncio.Semaphore(settings.LIVENESS_AT_ONCE)
    async with asyncio.TaskGroup() as group:
        while loop.time() < ends and (due := await run_db(checks.claim, settings.LIVENESS_AT_ONCE)):
            for agent in due:
                await turns.acquire()
                group.create_task(check(agent)).add_done_callback(lambda _: turns.release())


@app.task(name="registry.check_agent")
async def check_agent(agent: int) -> None:
    """Checks one agent now, for somebody who does not want to wait for its turn."""
    await check(agent)


async def check(agent: int) -> None:
    """Looks whether the agent with this id answers at its address, and notes what came of it. Never raises."""
    try:
        subject = await run_db(_subject, agent)
        if subject is not None:
            await _check(*subject)
    except Exception:
        # One agent must not keep the others from being checked. It is due again when its claim has run out.
        log.exception("check_crashed", agent=agent)


def _subject(agent: int) -> tuple[Revision, int] | None:
    """The agent's current revision, and in whose name it is called: whoever deployed it, else one of its owners."""
    revision = (
        Revision.objects.select_related("agent__owner")
        .filter(pk__in=Agent.objects.filter(pk=agent).values("current_revision"))
        .first()
    )
    if revision is None:
        return None
    owner = revision.agent.owner
    owners = User.objects.filter(Q(owner=owner) | Q(organizations__owner=owner)).order_by("pk")
    user = revision.created_by_id or owners.values_list("pk", flat=True).first()
    return None if user is None else (revision, user)


async def _check(revision: Revision, user: int) -> None:
    try:
        reading = await read_for(user, revision.agent.agent_id, revision.target, revision.agent.protocol)
        if isinstance(reading.result, FixieError):
            raise reading.result
        replayed = not reading.result.raw and await _answers(revision, reading.result, user)
        await run_db(record, revision, reading, again_after=checks.LONGEST if replayed else None)
    except FixieError as error:
        await run_db(checks.note_failure, revision.pk, error.message)


async def _answers(revision: Revision, read: ReadManifest, user: int) -> bool:
    """Whether the agent, which serves no manifest, has answered one of the queries given at its registration.

    That something serves its address proves little where any path is answered with 404. But a query is work and may do
    something, so that none is made up: without one given, the answer to the GET has to do. Its call is none of a run:
    nobody is charged, and its token is good for no other agent and no model. Its `Idempotency-Key` is always the same,
    so that an agent that honours those does nothing twice. Raises the transport's FixieErrors, and
    AgentInvalidResponse where the agent used to serve a manifest.
    """
    if revision.manifest is not None and not says_the_same(revision, read):
        # More likely a gateway that lost its agent than an agent that became another: its revision stays.
        raise AgentInvalidResponse("There is no manifest at the agent's address any more.")
    if not revision.agent.queries:
        return False
    claims = CallClaims(user_id=user, agent_id=revision.agent.agent_id, session="", run="", chain=())
    call = Call(
        message=AgentMessage(revision.agent.queries[0]),
        token=await asign_call_token(claims, lifetime=TOKEN_SECONDS),
        idempotency_key=f"liveness/{revision.pk}",
        timeout=READ_SECONDS,
    )
    await reply_of(transport(read.transport), Deployment(revision.target, read.options), call)
    return True
