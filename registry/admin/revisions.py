"""The administrator's view of revisions: a table of an agent's, and pages of their own."""

from typing import ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from accounts.asking import operator
from registry.access import may_set_command
from registry.admin.commands import KeepsOptions
from registry.models import Agent, Revision


class RevisionInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """The history of an agent, newest first; changed only by new deployments."""

    model = Revision
    fields: ClassVar = ["deployment", "target", "transport", "state", "error", "created", "created_by"]
    readonly_fields = fields
    ordering: ClassVar = ["-pk"]
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


@admin.register(Revision)
class RevisionAdmin(KeepsOptions):
    """To look at and to delete: a revision never changes but for its state."""

    list_display = ("id", "agent", "deployment", "transport", "state", "created")
    list_filter = (("agent", AutocompleteSelectFilter), "state", "deployment", "transport")
    list_select_related = ("agent__owner",)
    search_fields = ("=agent__handle", "=agent__owner__handle", "^target")
    search_help_text = _("Handle or owner of an agent, or the beginning of an address")
    ordering = ("-pk",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Revision]:
        revisions: QuerySet[Revision] = super().get_queryset(request)
        return revisions.select_related("created_by", "agent__owner")

    def get_exclude(self, request: HttpRequest, obj: Revision | None = None) -> list[str]:
        """A command's environment may hold secrets."""
        return [] if may_set_command(operator(request)) else ["options"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Revision | None = None) -> bool:
        return False
