"""Procrastinate's jobs for administrators, in place of the pages that come with it."""

import json
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from procrastinate import utils
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import (
    ProcrastinateEvent,
    ProcrastinateJob,
    ProcrastinatePeriodicDefer,
    ProcrastinateWorker,
)
from procrastinate.jobs import Status
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import DropdownFilter
from unfold.decorators import action, display

from accounts.admin_parts import UntouchableAdmin
from accounts.asking import Operates, operator
from accounts.audit import record
from accounts.models import User
from common.errors import InvalidRequest
from common.handles import parse_uuid
from fixie_site.job_names import STATES_TOLD, give_names

STATES = {"todo": "default", "doing": "info", "succeeded": "success", "failed": "danger"}
EVENTS_SHOWN = 30


def shown(value: Any) -> str:
    """An argument of a job: numbers and ids as they are; of other texts how long they are, for users wrote them."""
    if value is None or isinstance(value, int | float) or (isinstance(value, str) and parse_uuid(value)):
        return str(value)
    return gettext("%(number)s characters") % {"number": len(value if isinstance(value, str) else json.dumps(value))}


def _name(job: ProcrastinateJob) -> str:
    return f"{job.task_name} {job.pk}"


# What pages and the audit log call a job. Procrastinate's own name for it has all arguments.
ProcrastinateJob.add_to_class("__str__", _name)


def retry_job(*, job: ProcrastinateJob, by: User) -> None:
    """Has a failed job done again, at once. Raises InvalidRequest."""
    if job.status != Status.FAILED.value:
        raise InvalidRequest(_("Only a job that failed can be done again."), field="job")
    app.job_manager.retry_job_by_id(job.id, utils.utcnow(), job.priority, job.queue_name, job.lock)
    record(by=by, object=job, message="Had it done again.")


def cancel_job(*, job: ProcrastinateJob, by: User) -> None:
    """Takes a job out of the queue. Raises InvalidRequest where it does not wait (any more)."""
    if not app.job_manager.cancel_job_by_id(job.id, abort=False):
        raise InvalidRequest(_("Only a job that waits can be canceled."), field="job")
    record(by=by, object=job, message="Canceled it.")


class JobState(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, str(STATES_TOLD.get(state, state))) for state in ProcrastinateJob.STATUSES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value()) if self.value() in ProcrastinateJob.STATUSES else queryset


class TaskName(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    """Of the tasks that this site knows: their names are not looked up among all jobs."""

    title = _("task")
    parameter_name = "task"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted(app.tasks)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(task_name=self.value()) if self.value() else queryset


class QueueName(TaskName):
    title = _("queue")
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in sorted({task.queue for task in app.tasks.values()})]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(queue_name=self.value()) if self.value() else queryset


class EventInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    model = ProcrastinateEvent
    fields = ["type", "at"]
    readonly_fields = fields
    ordering = ["-pk"]
    extra = 0
    per_page = EVENTS_SHOWN
    can_delete = False
    verbose_name_plural = _("events")

    def has_view_permission(self, request: HttpRequest, obj: ProcrastinateJob | None = None) -> bool:
        return request.user.has_perm("procrastinate.view_procrastinatejob")

    def has_add_permission(self, request: HttpRequest, obj: ProcrastinateJob | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: ProcrastinateJob | None = None) -> bool:
        return False


give_names()
admin.site.unregister(ProcrastinateJob)


@admin.register(ProcrastinateJob)
class JobAdmin(Operates, UntouchableAdmin):
    """Jobs that wait, are done now, or failed; those that went well are not kept."""

    list_display = ["id", "task_name", "state", "arguments", "queue_name", "attempts", "scheduled_at", "last_event"]
    list_filter = [JobState, TaskName, QueueName]
    search_fields = ["id__exact"]
    search_help_text = _("Number of a job")
    ordering = ["-pk"]
    sorted_by: ClassVar = {"id": "pk"}
    fields = [
        *["id", "task_name", "state", "arguments", "queue_name", "priority", "attempts", "scheduled_at"],
        *["queueing_lock", "lock", "worker"],
    ]
    readonly_fields = fields
    hidden_lookups = ("args",)
    inlines = [EventInline]
    actions = ["retry", "cancel"]
    actions_detail = ["retry", "cancel"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[ProcrastinateJob]:
        jobs: QuerySet[ProcrastinateJob] = super().get_queryset(request)
        last = ProcrastinateEvent.objects.filter(job=OuterRef("pk")).order_by("-pk")
        return jobs.annotate(last=Subquery(last.values("at")[:1]))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ProcrastinateJob], search_term: str
    ) -> tuple[QuerySet[ProcrastinateJob], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        number = term.isascii() and term.isdigit() and len(term) < 19
        return (queryset.filter(pk=int(term)) if number else queryset.none()), False

    @display(description=_("state"), label=STATES)  # type: ignore[untyped-decorator]  # unfold is untyped
    def state(self, job: ProcrastinateJob) -> tuple[str, str]:
        return job.status, str(STATES_TOLD.get(job.status, job.status))

    @admin.display(description=_("arguments"))
    def arguments(self, job: ProcrastinateJob) -> str:
        return ", ".join(f"{name}: {shown(value)}" for name, value in job.args.items()) or "-"

    @admin.display(description=_("last event"))
    def last_event(self, job: Any) -> Any:
        return job.last

    def has_operate_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perm("procrastinate.change_procrastinatejob")

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Do it again"), permissions=["operate"], url_path="retry"
    )
    def retry(
        self, request: HttpRequest, queryset: QuerySet[ProcrastinateJob] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda job, _form: retry_job(job=job, by=operator(request)),
            title=gettext("Do it again"),
            button=gettext("Do it again"),
            explained=gettext("The next worker that is free takes it."),
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Cancel"), permissions=["operate"], url_path="cancel"
    )
    def cancel(
        self, request: HttpRequest, queryset: QuerySet[ProcrastinateJob] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda job, _form: cancel_job(job=job, by=operator(request)),
            title=gettext("Cancel"),
            button=gettext("Cancel the job"),
            explained=gettext("Nobody will do it. Periodic jobs come again."),
        )


@admin.register(ProcrastinateWorker)
class WorkerAdmin(UntouchableAdmin):
    list_display = ["id", "last_heartbeat"]
    ordering = ["-last_heartbeat"]


@admin.register(ProcrastinatePeriodicDefer)
class PeriodicDeferAdmin(UntouchableAdmin):
    """When periodic tasks were last made jobs."""

    list_display = ["id", "task_name", "periodic_id", "time", "job_id"]
    list_filter = [TaskName]
    fields = ["task_name", "periodic_id", "time", "job_id"]
    readonly_fields = fields
    ordering = ["-pk"]
    sorted_by: ClassVar = {"id": "pk"}

    @admin.display(description=_("for the time"))
    def time(self, defer: ProcrastinatePeriodicDefer) -> Any:
        return datetime.fromtimestamp(defer.defer_timestamp, UTC) if defer.defer_timestamp else None


@admin.register(ProcrastinateEvent)
class EventAdmin(UntouchableAdmin):
    list_display = ["id", "job_id", "type", "at"]
    ordering = ["-pk"]
    sorted_by: ClassVar = {"id": "pk", "at": "pk"}
