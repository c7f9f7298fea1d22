"""What the admin's lists of sessions and runs can be narrowed to; each by way of an index."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter, RangeDateTimeFilter

from common.errors import CODES
from sessions_app.models import Run, Session

UNFINISHED = (Run.Status.QUEUED, Run.Status.IN_PROGRESS)


class SessionState(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return (("working", _("at work")), ("deleted", _("deleted")), ("archived", _("archived")))

    def queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> QuerySet[Session]:
        if self.value() == "working":
            return queryset.filter(pk__in=Run.objects.filter(status__in=UNFINISHED).values("session"))
        if self.value() == "deleted":
            return queryset.filter(deleted__isnull=False)
        return queryset.filter(archived=True) if self.value() == "archived" else queryset


class RunState(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return (("unfinished", _("waiting or at work")), *Run.Status.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        if self.value() == "unfinished":
            return queryset.filter(status__in=UNFINISHED)
        return queryset.filter(status=self.value()) if self.value() in Run.Status.values else queryset


class ErrorCode(DropdownFilter):  # type: ignore[misc]  # unfold is untyped
    title = _("error")
    parameter_name = "error"

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return [(code, code) for code in CODES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> QuerySet[Run]:
        # That it is not empty lets the index of those that have one be used.
        return queryset.filter(error_code=self.value()).exclude(error_code="") if self.value() else queryset


class TimeRange(RangeDateTimeFilter):  # type: ignore[misc]  # unfold is untyped
    """From a moment up to another, in UTC; a date alone is its midnight, and what is no date is left out."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        bounds = {"gte": self._moment("from"), "lt": self._moment("to")}
        return queryset.filter(**{f"{self.field_path}__{lookup}": at for lookup, at in bounds.items() if at})

    def _moment(self, bound: str) -> datetime | None:
        date, time = (self.used_parameters.get(f"{self.parameter_name}_{bound}_{part}") or "" for part in (0, 1))
        try:
            found = datetime.fromisoformat(f"{date}T{time or '00:00'}")
        except ValueError:
            return None
        return found.replace(tzinfo=UTC)
