"""What the administrator's list of agents is filtered by, and what it counts; one statement for all of its rows."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.models import UsageDay
from registry.models import Agent

WEEK = timedelta(days=6)
# By what `AgentAdmin.health` says.
HEALTH = {"healthy": _("Healthy"), "failing": _("Failing"), "not checked": _("Not checked")}


class Health(admin.SimpleListFilter):
    title = _("health")
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("healthy", _("Healthy")), ("failing", _("Failing")), ("unchecked", _("Not checked"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> QuerySet[Agent]:
        match self.value():
            case "healthy":
                return queryset.filter(liveness__healthy=True)
            case "failing":
                return queryset.filter(liveness__healthy=False)
            case "unchecked":
                return queryset.filter(liveness=None)
        return queryset


def with_questions(agents: QuerySet[Agent]) -> QuerySet[Agent]:
    """With `today` and `week`: what all users together asked on this day (UTC), and on it and the six before."""
    today = datetime.now(UTC).date()
    used = UsageDay.objects.filter(agent=OuterRef("pk")).order_by().values("agent").annotate(n=Sum("queries"))
    return agents.annotate(
        today=Coalesce(Subquery(used.filter(day=today).values("n")), 0),
        week=Coalesce(Subquery(used.filter(day__gte=today - WEEK).values("n")), 0),
    )
