"""Agents and their revisions for administrators. Manifests are read by a task, not here."""

from datetime import datetime
from typing import Any, Unpack

from django import forms
from django.contrib import admin, messages
from django.db.models import Model, QuerySet, URLField
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldAdminURLInputWidget,
)

from accounts.admin import LIMITS, LimitsInHistory, ReadOnlyAdmin
from accounts.models import AgentUsage, Owner, UsageDay, User
from accounts.quotas import spread
from common.errors import FixieError, InvalidRequest
from common.http import check_url
from registry import actions, commands_admin, routing_admin, tasks
from registry.access import may_set_command
from registry.fields import PROTOCOLS, AgentFields
from registry.forms import LinesField, QueriesField
from registry.health import health_of
from registry.limits import remaining
from registry.models import Agent, Revision
from registry.samples import index_later
from registry.usage import agent_of, name_of

# Django looks for admins in this module alone.
__all__ = ["AgentAdmin", "RevisionAdmin", "commands_admin", "routing_admin"]

NOT_READ = InvalidRequest("The manifest has not been read yet.")


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only
    owner = forms.ModelChoiceField(
        Owner.objects.all(),
        to_field_name="handle",
        widget=UnfoldAdminTextInputWidget,
        help_text="Handle of a user or an organization.",
    )
    queries = QueriesField(widget=UnfoldAdminTextareaWidget(attrs={"rows": 6}), help_text="One question a line.")
    capabilities = LinesField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Types of tasks that it takes, one a line.",
    )
    protocol = forms.ChoiceField(
        required=False,
        choices=[(name, name or "what is found at its address") for name in PROTOCOLS],
        widget=UnfoldAdminSelectWidget,
        help_text="What it speaks. After a change its address is read again, in the background.",
    )
    deployment_url = forms.CharField(
        required=False,
        max_length=2000,
        widget=UnfoldAdminURLInputWidget,
        help_text="An address to run at from now on; its manifest is read in the background.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial["owner"] = self.instance.owner.handle

    def clean_deployment_url(self) -> str:
        url: str = self.cleaned_data["deployment_url"]
        try:
            if url:
                check_url(url)
        except FixieError as error:
            raise forms.ValidationError(error.message) from None
        return url


class RevisionInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """The history of an agent, newest first; changed only by new deployments."""

    model = Revision
    fields = ["deployment", "target", "transport", "state", "error", "created", "created_by"]
    readonly_fields = fields
    ordering = ["-pk"]
    extra = 0
    per_page = 20
    can_delete = False
    show_change_link = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revision]:
        revisions: QuerySet[Revision] = super().get_queryset(request)
        return revisions.select_related("created_by").defer("manifest")

    def has_add_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Agent | None = None) -> bool:
        return False


@admin.register(Agent)
class AgentAdmin(LimitsInHistory, commands_admin.RunsCommands):
    form = AgentForm
    list_display = [
        *["agent_id", "name", "published", "enabled"],
        *["state", "answers", "last_alive", "transport", "modified"],
    ]
    list_filter = [
        *["published", "enabled", "liveness__healthy"],
        *["current_revision__state", "current_revision__deployment"],
    ]
    search_fields = ["handle", "owner__handle", "name"]
    search_help_text = "Handle, owner or name"
    ordering = ["owner__handle", "handle"]
    limits = (*LIMITS, "minute_query_limit")
    fields = [
        *["owner", "handle", "name", "description", "queries", "more_info_url", "published", "enabled"],
        *["deployment_url", "protocol", "capabilities", "priority", *limits, "limits_left"],
        *["current_revision", "answers", "last_alive", "last_error", "created", "modified"],
    ]
    readonly_fields = ["limits_left", "current_revision", "answers", "last_alive", "last_error", "created", "modified"]
    formfield_overrides = {URLField: {"assume_scheme": "https"}}
    show_full_result_count = False
    inlines = [RevisionInline]
    actions = ["refresh_manifests", "publish", "unpublish", "switch_on", "switch_off"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        agents: QuerySet[Agent] = super().get_queryset(request)
        return agents.select_related("owner", "current_revision", "liveness")

    @admin.display(ordering="current_revision__state")
    def state(self, agent: Agent) -> str:
        return agent.current_revision.state if agent.current_revision else "not deployed"

    @admin.display(ordering="liveness__healthy", boolean=True)
    def answers(self, agent: Agent) -> bool:
        return health_of(agent, mine=True).healthy

    @admin.display(ordering="liveness__last_alive", description="last proof of life")
    def last_alive(self, agent: Agent) -> datetime | None:
        return health_of(agent, mine=True).last_alive

    @admin.display(description="what the last check met")
    def last_error(self, agent: Agent) -> str:
        return health_of(agent, mine=True).error or ""

    @admin.display(description="left of its limits")
    def limits_left(self, agent: Agent) -> str:
        left = remaining(agent)
        rooms = {"minute": left.minute, "day": left.day, "tokens today": left.tokens}
        told = [f"{name}: {room.remaining:,} of {room.limit:,}" for name, room in rooms.items() if room]
        if said := left.reported:
            told.append(f"it says itself: {said.remaining_minute} this minute, {said.remaining_today} today")
        return "; ".join(told) or "no limits"

    @admin.display(ordering="current_revision__transport")
    def transport(self, agent: Agent) -> str:
        return agent.current_revision.transport if agent.current_revision else ""

    @admin.action(description="Read the manifests again", permissions=["change"])
    def refresh_manifests(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        assert request.user.pk is not None
        chosen = list(queryset.values_list("pk", flat=True))
        for agent in chosen:
            tasks.refresh_manifest.defer(agent=agent, user=request.user.pk)
        messages.success(request, f"{len(chosen)} manifests will be read in the background.")

    @admin.action(description="Publish", permissions=["change"])
    def publish(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._update(request, queryset, published=True)

    @admin.action(description="Unpublish", permissions=["change"])
    def unpublish(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._update(request, queryset, published=False)

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._update(request, queryset, enabled=True)

    @admin.action(description="Switch off", permissions=["change"])
    def switch_off(self, request: HttpRequest, queryset: QuerySet[Agent]) -> None:
        self._update(request, queryset, enabled=False)

    def _update(self, request: HttpRequest, queryset: QuerySet[Agent], **fields: Unpack[AgentFields]) -> None:
        assert isinstance(request.user, User)
        for agent in queryset:
            actions.update_agent(agent=agent, by=request.user, **fields)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        assert isinstance(request.user, User)
        if change and not set(LIMITS).isdisjoint(form.changed_data):
            # Ahead of the agent's row: a query that is being accepted locks them in this order.
            spread(obj.pk)
        super().save_model(request, obj, form, change)
        if not {"name", "description", "queries", "capabilities"}.isdisjoint(form.changed_data):
            index_later(obj.pk)
        if url := form.cleaned_data.get("deployment_url") or _address_to_read_again(obj, form.changed_data):
            actions.add_revision(agent=obj, by=request.user, reading=actions.Reading(url, NOT_READ))
            tasks.refresh_manifest.defer(agent=obj.pk, user=request.user.pk)

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


@admin.register(Revision)
class RevisionAdmin(commands_admin.KeepsOptions):
    """To look at and to delete: a revision never changes but for its state."""

    list_display = ["id", "agent", "deployment", "transport", "state", "created"]
    list_filter = ["state", "deployment", "transport"]
    list_select_related = ["agent__owner"]
    search_fields = ["agent__handle", "agent__owner__handle", "target"]
    ordering = ["-pk"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revision]:
        revisions: QuerySet[Revision] = super().get_queryset(request)
        return revisions.select_related("created_by", "agent__owner")

    def get_exclude(self, request: HttpRequest, obj: Revision | None = None) -> list[str]:
        """A command's environment may hold secrets."""
        assert isinstance(request.user, User)
        return [] if may_set_command(request.user) else ["options"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Revision | None = None) -> bool:
        return False


class _UsageAdmin(ReadOnlyAdmin):
    """What was used, of agents by their names: these tables know only numbers."""

    list_filter = ["day"]
    ordering = ["-day", "-pk"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request)
        named: QuerySet[Any] = rows.annotate(name=name_of(Agent.objects.all()))
        return named

    @admin.display(description="agent", ordering="agent")
    def agent_name(self, row: Any) -> str:
        return agent_of(row) or "in all"

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(UsageDay)
class UsageDayAdmin(_UsageAdmin):
    list_display = ["day", "user", "agent_name", "queries", "prompt_tokens", "completion_tokens"]
    list_select_related = ["user"]
    search_fields = ["user__username"]


@admin.register(AgentUsage)
class AgentUsageAdmin(_UsageAdmin):
    list_display = ["day", "agent_name", "slot", "queries", "tokens"]
