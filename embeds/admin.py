"""The administrator's view of embeds: whose they are and what they take, never what is in them."""

from datetime import timedelta

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from unfold.admin import ModelAdmin

from embeds import actions
from embeds.models import Embed


@admin.register(Embed)
class EmbedAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """To look at: embeds never change, and those in conversations go with them."""

    list_display = ["id", "owner", "content_type", "size", "created", "touched"]
    list_select_related = ["owner", "blob"]
    list_filter = ["created"]
    search_fields = ["owner__username", "content_type", "blob__sha256"]
    search_help_text = "Owner, content type or SHA-256"
    ordering = ["-pk"]
    fields = ["id", "owner", "content_type", "size", "sha256", "created", "touched"]
    readonly_fields = fields
    show_full_result_count = False
    actions = ["remove_unreferenced"]

    @admin.display(ordering="blob__size")
    def size(self, embed: Embed) -> str:
        return filesizeformat(embed.blob.size)

    @admin.display(description="SHA-256")
    def sha256(self, embed: Embed) -> str:
        return embed.blob.sha256

    @admin.action(description="Remove those that nothing refers to", permissions=["remove"])
    def remove_unreferenced(self, request: HttpRequest, queryset: QuerySet[Embed]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        removed = async_to_sync(actions.remove_unreferenced)(ids=chosen, older_than=timedelta(0))
        messages.success(request, f"{removed} of {len(chosen)} removed.")

    def has_remove_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("embeds.delete_embed")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Embed | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Embed | None = None) -> bool:
        return False
