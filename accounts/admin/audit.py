"""The audit log for administrators: to look at, to search, to export; nobody changes or deletes a line."""

from typing import ClassVar

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter, RangeDateTimeFilter

from accounts.admin_parts import UntouchableAdmin
from accounts.exports import Exports


@admin.register(LogEntry)
class AuditAdmin(Exports, UntouchableAdmin):
    list_display = ("action_time", "user", "action_flag", "content_type", "about", "told")
    list_select_related = ("user", "content_type")
    list_filter = (
        ("user", AutocompleteSelectFilter),
        "action_flag",
        ("action_time", RangeDateTimeFilter),
        ("content_type", admin.RelatedFieldListFilter),
    )
    search_fields = ("^user__username", "=object_id")
    search_help_text = _("Beginning of an operator's name, or the id of an object")
    ordering = ("-pk",)
    sorted_by: ClassVar = {"action_time": "pk"}
    fields = ("action_time", "user", "action_flag", "content_type", "object_id", "about", "told")
    readonly_fields = fields
    actions = ("export_chosen",)
    exported = (
        *("action_time", "user.username", "get_action_flag_display", "content_type", "object_id", "object_repr"),
        "told",
    )

    @admin.display(description=_("object"))
    def about(self, entry: LogEntry) -> str:
        url = entry.get_admin_url() if entry.object_id and not entry.is_deletion() else None
        return format_html('<a class="fx-link" href="{}">{}</a>', url, entry.object_repr) if url else entry.object_repr

    @admin.display(description=_("what was done"))
    def told(self, entry: LogEntry) -> str:
        return str(entry.get_change_message())
