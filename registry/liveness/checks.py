"""Whether agents answer: whose turn it is to be checked, and what a check found. No network."""

import random
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from registry.models import Agent, Liveness, Revision

# After one failure an agent is looked at again so soon; and for so long after a check runs bring no other forward.
PATIENCE = timedelta(seconds=30)
LONGEST = timedelta(hours=1)
# A check that was begun and not ended, for its process died, is made anew after this time.
LEASE = timedelta(minutes=2)
# So many agents that are new to the checks are taken up at a time.
NEW_MAX = 1000
ERROR_MAX = 1000


def take_up() -> None:
    """Gives published agents that run at an address their first check, an interval after they were deployed.

    They were read then, which is their first proof of life.
    """
    outside = Revision.objects.filter(deployment=Revision.Deployment.EXTERNAL)
    new = Agent.objects.filter(published=True, enabled=True, liveness=None, current_revision__in=outside)
    rows = [
        _first(agent) for agent in new.select_related("current_revision").defer("current_revision__manifest")[:NEW_MAX]
    ]
    Liveness.objects.bulk_create(rows, ignore_conflicts=True)


def take_up_one(agent: Agent) -> None:
    """Gives an agent that was never checked a row for what a check finds; it comes with its current revision."""
    Liveness.objects.bulk_create([_first(agent)], ignore_conflicts=True)


def _first(agent: Agent) -> Liveness:
    revision = agent.current_revision
    assert revision is not None
    read = revision.created if revision.state == Revision.State.READY else None
    return Liveness(agent=agent, last_alive=read, next_check=revision.created + _spread(_interval()))


def claim(limit: int) -> list[int]:
    """Ids of up to `limit` agents whose check is due, which nobody else gets now: the ones that wait longest first.

    Those are the published ones that run at an address; and those that were found failing, for they are to come back
    to their owners too; none that are switched off.
    """
    with transaction.atomic():
        due = _checked_agents().filter(next_check__lte=timezone.now()).order_by("next_check")
        agents = [row.pk for row in due.select_for_update(skip_locked=True, of=("self",))[:limit]]
        Liveness.objects.filter(pk__in=agents).update(next_check=timezone.now() + LEASE)
    return agents


def _checked_agents() -> QuerySet[Liveness]:
    outside = Q(agent__current_revision__deployment=Revision.Deployment.EXTERNAL)
    return Liveness.objects.filter(outside, Q(agent__enabled=True), Q(agent__published=True) | Q(healthy=False))


def note_alive(revision: int, *, again_after: timedelta | None = None) -> None:
    """The agent whose current revision has this id has just answered: it is healthy, whatever was before.

    The next check comes after the usual interval, or `again_after`.
    """
    now = timezone.now()
    Liveness.objects.filter(agent__current_revision=revision).update(
        healthy=True,
        failures=0,
        error="",
        last_alive=now,
        checked=now,
        next_check=now + _spread(again_after or _interval()),
    )


def note_failure(revision: int, error: str) -> None:
    """A check of the agent whose current revision has this id failed; `error` says why.

    The second failure in a row makes it unhealthy. After the first one it is looked at again soon, then less and less
    often, up to once an hour.
    """
    now = timezone.now()
    with transaction.atomic():
        rows = Liveness.objects.select_for_update(of=("self",))
        row = rows.filter(agent__current_revision=revision).first()
        if row is None:
            return
        row.failures += 1
        row.healthy = row.failures < 2
        row.error = error.replace("\0", "")[:ERROR_MAX]
        row.checked, row.next_check = now, now + _spread(_back_off(row.failures))
        row.save(update_fields=["failures", "healthy", "error", "checked", "next_check"])


def check_soon(agent: int) -> None:
    """Brings the next check of a healthy agent forward, for a run did not reach it."""
    now = timezone.now()
    settled = Q(checked=None) | Q(checked__lt=now - PATIENCE)
    Liveness.objects.filter(settled, pk=agent, healthy=True, next_check__gt=now).update(next_check=now)


def begin_anew(agent: Agent) -> None:
    """Forgets what was found of the agent's last deployment, for it has another now."""
    row = getattr(agent, "liveness", None)
    if row is not None:
        row.healthy, row.failures, row.error, row.next_check = True, 0, "", timezone.now()
        row.save(update_fields=["healthy", "failures", "error", "next_check"])


def _interval() -> timedelta:
    return timedelta(seconds=settings.LIVENESS_SECONDS)


def _back_off(failures: int) -> timedelta:
    if failures < 2:
        return min(PATIENCE, _interval())
    # Bounded before it is multiplied: a timedelta overflows.
    doubled: timedelta = _interval() * 2 ** min(failures - 2, 20)
    return min(doubled, LONGEST)


def _spread(delay: timedelta) -> timedelta:
    """`delay`, a tenth more or less, so that agents that were registered together are not checked together."""
    return delay * random.uniform(0.9, 1.1)  # noqa: S311
