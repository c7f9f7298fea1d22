"""Embeds what agents can be asked for the Router's index, in the background."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import DurationField, ExpressionWrapper, F, Q, QuerySet, Value
from django.db.models.functions import Greatest, Least
from django.utils import timezone

from common.db import run_db_safely
from common.errors import ModelUnavailable
from registry.clashes import mark_clashes
from registry.models import Agent, AgentIndex, Revision, SampleIndex, SampleQuery
from registry.routing.embedder import embedder, embedder_named
from registry.routing.samples import digest_of, texts_of
from registry.words import keep_words

log = structlog.get_logger()

# After so many texts the progress is noted.
BATCH = 64
# Whoever noted nothing for so long has died.
PATIENCE = timedelta(minutes=2)
# What failed is tried again after as long as it has been failing by then, within these bounds.
SHORTEST, LONGEST = timedelta(minutes=1), timedelta(minutes=15)
SWEEP_MAX = 1000

# Rows of one INSERT.
INSERTED = 200


@dataclass(frozen=True, slots=True)
class Embedders:
    """Names: whose vectors serve, and whose will. The latter is empty unless the site is moving to another one."""

    serving: str
    building: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What the index is to hold of an agent, by texts and their sources, and which of it is missing."""

    agent: int
    revision: int
    texts: dict[str, str]
    missing: list[str]


async def index_agent(agent: int) -> None:
    """Makes the index hold what this agent can be asked now, as one change; `AgentIndex` tells how far it is.

    Does nothing where the agent is gone or has no revision that works. If the embedder fails, `AgentIndex` says so,
    and `agents_to_index` names the agent again.
    """
    plan = await run_db_safely(_plan, agent)
    if plan is None:
        return
    try:
        while not await _fill(plan):
            log.info("embedder_changed_meanwhile", agent=agent)
    except ModelUnavailable as error:
        log.warning("samples_not_embedded", agent=agent, reason=error.message)
        await run_db_safely(_note, agent, error=error.message)
        return
    await run_db_safely(mark_clashes, agent)


async def embedders() -> Embedders:
    """Those of the index as it is now. On a new site that is the configured one."""
    return await run_db_safely(_embedders, (await embedder()).name)


async def embed(texts: Sequence[str], by: Embedders) -> list[SampleQuery]:
    """An unsaved sample of each text, with its vectors and nothing else. Raises ModelUnavailable.

    They may be saved in a transaction in which `hold_index(by)` is true.
    """
    serving, building = await embedder_named(by.serving), await embedder_named(by.building)
    if serving is None:
        raise ModelUnavailable(f"The embedder {by.serving} is gone; the site is about to move to another.")
    vectors = await serving.embed(texts)
    nexts = vectors if building is serving else [None] * len(texts) if building is None else await building.embed(texts)
    return [
        SampleQuery(text=text, embedding=vector, next_embedding=later)
        for text, vector, later in zip(texts, vectors, nexts, strict=True)
    ]


def hold_index(by: Embedders) -> bool:
    """Whether the vectors of the index are still of these embedders. Then they stay so until the transaction ends."""
    index = SampleIndex.objects.select_for_update(no_key=True).get()
    return Embedders(index.serving, index.building) == by


def agents_to_index() -> list[int]:
    """Ids of some agents of which the index may not hold what it should: nobody was told, or died, or failed.

    Not of those that somebody is at work on, nor of those that failed a moment ago.
    """
    now = timezone.now()
    in_work = Q(index__digest=b"", index__error="", index__modified__gt=now - PATIENCE)
    failing_for = ExpressionWrapper(F("index__modified") - F("modified"), DurationField())
    pause = Least(Greatest(failing_for, Value(SHORTEST)), Value(LONGEST))
    failed = Q(index__error__gt="", index__modified__gt=Value(now) - F("pause"))
    agents = _stale_agents().annotate(pause=pause).exclude(in_work).exclude(failed)
    return list(agents.order_by("modified").values_list("pk", flat=True)[:SWEEP_MAX])


def not_indexed(owner: str) -> dict[str, str]:
    """The owner's working agents that the index does not hold as they are now: their handles, and what went wrong.

    Nothing went wrong yet where that is empty.
    """
    stale = _stale_agents().filter(owner__handle=owner).order_by("handle")
    return {handle: error or "" for handle, error in stale.values_list("handle", "index__error")}


def _stale_agents() -> QuerySet[Agent]:
    """Those of which the index may not hold what it should."""
    return _working_agents().filter(
        Q(index=None)
        | ~Q(index__revision=F("current_revision"))
        | Q(index__modified__lt=F("modified"))
        | Q(index__digest=b"")
    )


def _working_agents() -> QuerySet[Agent]:
    return Agent.objects.filter(current_revision__state=Revision.State.READY)


def _locked(agent: int) -> Agent | None:
    """Waits for whoever changes it just now."""
    agents = _working_agents().select_related("current_revision")
    return agents.select_for_update(of=("self",), no_key=True).filter(pk=agent).first()


def _room_for(agent: Agent) -> int:
    """How many samples the index takes of this agent: one at least, its name."""
    others = SampleQuery.objects.filter(agent__owner=agent.owner_id).exclude(agent=agent).count()
    limit: int = settings.OWNER_MAX_SAMPLES
    return max(limit - others, 1)


def _plan(pk: int) -> Plan | None:
    with transaction.atomic():
        agent = _locked(pk)
        if agent is None or agent.current_revision_id is None:
            return None
        texts = dict(islice(texts_of(agent).items(), _room_for(agent)))
        there = set(_public(pk).values_list("text", flat=True))
        plan = Plan(pk, agent.current_revision_id, texts, [text for text in texts if text not in there])
        # Without a digest the index is known to be in work, by whoever asks whether work on it has died.
        AgentIndex.objects.get_or_create(agent=agent)
        _note(pk, digest=b"", done=len(texts) - len(plan.missing), total=len(texts), error="")
        return plan


async def _fill(plan: Plan) -> bool:
    """Embeds what is missing and puts it into the index; no, where the index moved to another embedder meanwhile."""
    by = await embedders()
    samples: list[SampleQuery] = []
    for start in range(0, len(plan.missing), BATCH):
        samples += await embed(plan.missing[start : start + BATCH], by)
        await run_db_safely(_note, plan.agent, done=len(plan.texts) - len(plan.missing) + len(samples))
    return await run_db_safely(_replace, plan, by, samples)


def _embedders(configured: str) -> Embedders:
    index, _ = SampleIndex.objects.get_or_create(defaults={"serving": configured})
    return Embedders(index.serving, index.building)


def _public(agent: int) -> QuerySet[SampleQuery]:
    return SampleQuery.objects.filter(agent=agent, user=None)


def _note(agent: int, **fields: Any) -> None:
    """Nothing happens where the agent is gone, and its index with it."""
    AgentIndex.objects.filter(agent=agent).update(modified=timezone.now(), **fields)


def _replace(plan: Plan, by: Embedders, samples: list[SampleQuery]) -> bool:
    with transaction.atomic():
        if not hold_index(by):
            return False
        agent = _locked(plan.agent)
        # If it has another revision by now, another task makes the index what it is to be.
        if agent is not None and agent.current_revision_id == plan.revision:
            _keep(plan)
            _add(plan, samples)
            keep_words(plan.agent)
            total, digest = len(plan.texts), digest_of(plan.texts)
            _note(plan.agent, revision=plan.revision, digest=digest, done=total, total=total)
        return True


def _keep(plan: Plan) -> None:
    """Of the samples that are there keeps those with texts of the plan, and all corrections."""
    there = _public(plan.agent).exclude(source=SampleQuery.Source.CORRECTION)
    obsolete: list[int] = []
    moved: dict[str, list[int]] = {}
    for pk, text, *place in there.values_list("pk", "text", "source", "revision"):
        source = plan.texts.get(text)
        if source is None:
            obsolete.append(pk)
        elif place != [source, plan.revision]:
            moved.setdefault(source, []).append(pk)
    SampleQuery.objects.filter(pk__in=obsolete).delete()
    for source, pks in moved.items():
        SampleQuery.objects.filter(pk__in=pks).update(source=source, revision=plan.revision)


def _add(plan: Plan, samples: list[SampleQuery]) -> None:
    for sample in samples:
        sample.agent_id, sample.revision_id, sample.source = plan.agent, plan.revision, plan.texts[sample.text]
    # Another task of the same agent may have been quicker, or its owner, who accepted a correction.
    SampleQuery.objects.bulk_create(samples, batch_size=INSERTED, ignore_conflicts=True)
