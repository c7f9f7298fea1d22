"""How much each agent keeps about whom, for administrators. What it is, is not theirs to see."""

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from storage_kv.models import StorageUsage


@admin.register(StorageUsage)
class StorageUsageAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    list_display = ("agent", "user", "keys", "bytes")
    list_select_related = ("agent__owner", "user")
    search_fields = ("agent__handle", "agent__owner__handle", "user__username")
    search_help_text = "An agent's handle, its owner, or a user's name"
    ordering = ("-bytes", "-pk")
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
