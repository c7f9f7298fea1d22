"""What the admin calls Procrastinate's models, their fields and the states of jobs: it has English names alone."""

from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_lazy as _
from procrastinate.contrib.django.models import (
    ProcrastinateEvent,
    ProcrastinateJob,
    ProcrastinatePeriodicDefer,
    ProcrastinateWorker,
)

STATES_TOLD = {
    "todo": _("waiting"),
    "doing": _("at work"),
    "succeeded": _("succeeded"),
    "failed": _("failed"),
    "cancelled": _("canceled"),
    "aborted": _("aborted"),
}
MODELS: dict[type[Model], tuple[Any, Any]] = {
    ProcrastinateJob: (_("job"), _("jobs")),
    ProcrastinateWorker: (_("worker"), _("workers")),
    ProcrastinatePeriodicDefer: (_("periodic job"), _("periodic jobs")),
    ProcrastinateEvent: (_("event"), _("events")),
}
FIELDS: dict[str, Any] = {
    "id": "ID",
    "task_name": _("task"),
    "queue_name": _("queue"),
    "priority": _("priority"),
    "attempts": _("attempts"),
    "scheduled_at": _("scheduled at"),
    "queueing_lock": _("queueing lock"),
    "lock": _("lock"),
    "worker": _("worker"),
    "last_heartbeat": _("heartbeat"),
    "periodic_id": _("periodic id"),
    "job": _("job"),
    "type": _("kind"),
    "at": _("when"),
}


def give_names() -> None:
    """Gives models and fields these names. Migrations see nothing of it."""
    for model, (name, plural) in MODELS.items():
        model._meta.verbose_name, model._meta.verbose_name_plural = name, plural
        for field in model._meta.fields:
            field.verbose_name = FIELDS.get(field.name, field.verbose_name)
