"""The administrator's view of agents: how they are, what they are asked, and what an operator does about it."""

from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet, URLField
from django.http import HttpRequest, HttpResponse
from django.utils import formats
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import display

from accounts.admin_parts import LIMITS, CountsWhatGoes, LimitsInHistory
from accounts.asking import operator
from accounts.exports import Exports
from accounts.quotas import spread
from common.errors import InvalidRequest
from registry import actions, tasks
from registry.admin.agent_form import AgentForm
from registry.admin.agent_lists import HEALTH, Health, with_questions
from registry.admin.agent_operations import AgentOperations
from registry.admin.agent_panels import panels_of
from registry.admin.commands import RunsCommands
from registry.admin.revisions import RevisionInline
from registry.limits import remaining
from registry.liveness.health import health_of
from registry.models import Agent, Revision
from registry.routing.samples import index_later

NOT_READ = InvalidRequest("The manifest has not been read yet.")
ERROR_SHOWN = 60


@admin.register(Agent)
class AgentAdmin(CountsWhatGoes, LimitsInHistory, AgentOperations, Exports, RunsCommands):
    form = AgentForm
    list_display = (
        *("agent", "shown_health", "alive", "error", "shown_state", "transport"),
        *("questions_today", "questions_this_week", "enabled", "published"),
    )
    list_filter = (
        *(Health, ("owner", AutocompleteSelectFilter), "published", "enabled"),
        *("current_revision__state", "current_revision__deployment", "current_revision__transport"),
    )
    search_fields = ("handle", "owner__handle", "name")
    search_help_text = _("Handle, owner or name")
    ordering = ("owner__handle", "handle")
    limits = (*LIMITS, "minute_query_limit")
    fields = (
        *("owner", "handle", "name", "description", "queries", "more_info_url", "published", "enabled"),
        *("deployment_url", "protocol", "capabilities", "priority", *limits, "limits_left"),
        *("current_revision", "created", "modified"),
    )
    readonly_fields = ("limits_left", "current_revision", "created", "modified")
    formfield_overrides: ClassVar = {URLField: {"assume_scheme": "https"}}
    inlines = (RevisionInline,)
    change_form_outer_after_template = "admin/registry/agent_panels.html"
    exported = (
        *("agent_id", "name", "health", "last_alive", "last_error", "state", "transport", "questions_today"),
        *("questions_this_week", "enabled", "published", *limits, "created", "modified"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        agents: QuerySet[Agent] = super().get_queryset(request)
        return with_questions(agents.select_related("owner", "current_revision", "liveness"))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        agent = self.get_object(request, object_id)
        beside = {} if agent is None else {"panels": panels_of(agent, request)}
        answer: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **beside})
        return answer

    @display(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("health"), label={"healthy": "success", "failing": "danger", "not checked": "info"}
    )
    def shown_health(self, agent: Agent) -> tuple[str, str]:
        health = self.health(agent)
        return health, str(HEALTH[health])

    def health(self, agent: Agent) -> str:
        row = getattr(agent, "liveness", None)
        return "not checked" if row is None else str(row)

    @admin.display(description=_("revision"))
    def shown_state(self, agent: Agent) -> str:
        return agent.current_revision.get_state_display() if agent.current_revision else gettext("not deployed")

    def state(self, agent: Agent) -> str:
        return agent.current_revision.state if agent.current_revision else "not deployed"

    def last_alive(self, agent: Agent) -> datetime | None:
        return health_of(agent, mine=True).last_alive

    def last_error(self, agent: Agent) -> str:
        return health_of(agent, mine=True).error or ""

    @admin.display(description=_("agent"))
    def agent(self, agent: Agent) -> str:
        return agent.agent_id

    @admin.display(description=_("alive"))
    def alive(self, agent: Agent) -> str:
        last = self.last_alive(agent)
        return formats.date_format(last, "SHORT_DATETIME_FORMAT") if last else ""

    @admin.display(description=_("error"))
    def error(self, agent: Agent) -> str:
        return Truncator(self.last_error(agent)).chars(ERROR_SHOWN)

    @admin.display(description=_("today"))
    def questions_today(self, agent: Any) -> int:
        return int(agent.today)

    @admin.display(description=_("in 7 days"))
    def questions_this_week(self, agent: Any) -> int:
        return int(agent.week)

    @admin.display(description=_("left of its limits"))
    def limits_left(self, agent: Agent) -> str:
        left = remaining(agent)
        rooms = {_("minute"): left.minute, _("day"): left.day, _("tokens today"): left.tokens}
        told = [f"{name}: {room.remaining:,} / {room.limit:,}" for name, room in rooms.items() if room]
        if said := left.reported:
            words = _("it says itself: %(minute)s this minute, %(day)s today")
            told.append(words % {"minute": said.remaining_minute, "day": said.remaining_today})
        return "; ".join(told) or str(_("no limits"))

    @admin.display(description=_("speaks"))
    def transport(self, agent: Agent) -> str:
        return agent.current_revision.transport if agent.current_revision else ""

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        if change and not set(LIMITS).isdisjoint(form.changed_data):
            # Ahead of the agent's row: a query that is being accepted locks them in this order.
            spread(obj.pk)
        super().save_model(request, obj, form, change)
        if not {"name", "description", "queries", "capabilities"}.isdisjoint(form.changed_data):
            index_later(obj.pk)
        if url := form.cleaned_data.get("deployment_url") or _address_to_read_again(obj, form.changed_data):
            by = operator(request)
            actions.add_revision(agent=obj, by=by, reading=actions.Reading(url, NOT_READ))
            tasks.refresh_manifest.defer(agent=obj.pk, user=by.pk)

    def delete_model(self, request: HttpRequest, obj: Agent) -> None:
        actions.delete_agent(agent=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        for agent in queryset:
            actions.delete_agent(agent=agent)


def _address_to_read_again(agent: Agent, changed: list[str]) -> str | None:
    """Where the agent runs, if it is to speak another protocol there."""
    revision = agent.current_revision
    if "protocol" not in changed or revision is None or revision.deployment != Revision.Deployment.EXTERNAL:
        return None
    return revision.target
