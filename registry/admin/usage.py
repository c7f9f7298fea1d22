"""The administrator's view of what was used, of agents by their names: these tables know only numbers."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from accounts.admin_parts import UntouchableAdmin
from accounts.exports import Exports
from accounts.models import AgentUsage, UsageDay
from registry.models import Agent
from registry.usage.figures import agent_of, name_of


class _UsageAdmin(Exports, UntouchableAdmin):
    # As rows are made: of the newest day first.
    ordering = ("-pk",)
    actions = ("export_chosen",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        named: QuerySet[Any] = rows.annotate(name=name_of(Agent.objects.all()))
        return named

    @admin.display(description=gettext_lazy("agent"))
    def agent_name(self, row: Any) -> str:
        return agent_of(row) or _("in all")


@admin.register(UsageDay)
class UsageDayAdmin(_UsageAdmin):
    list_display = ("day", "user", "agent_name", "queries", "prompt_tokens", "completion_tokens")
    list_select_related = ("user",)
    list_filter = (("user", AutocompleteSelectFilter), "day")
    search_fields = ("^user__username",)
    search_help_text = gettext_lazy("Beginning of a user's name")
    exported = ("day", "user.username", "agent_name", "queries", "prompt_tokens", "completion_tokens")


@admin.register(AgentUsage)
class AgentUsageAdmin(_UsageAdmin):
    list_display = ("day", "agent_name", "slot", "queries", "tokens")
    list_filter = ("day",)
    exported = ("day", "agent_name", "slot", "queries", "tokens")
