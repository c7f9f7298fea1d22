"""The administrator's view of embeds: whose they are and what they take, never what is in them."""

from datetime import timedelta
from typing import Any, ClassVar

from asgiref.sync import async_to_sync
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Count, Q, QuerySet, Sum
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter

from accounts.admin.user_panels import Fact, tell_of_users
from accounts.admin_parts import UntouchableAdmin
from accounts.asking import operator
from accounts.audit import record
from accounts.models import User
from embeds import actions
from embeds.models import Embed

MIB = 1024 * 1024


class Kind(admin.SimpleListFilter):
    """By the first half of the content type: what a browser does with it."""

    title = _("kind")
    parameter_name = "kind"
    kinds = ("image/", "audio/", "video/", "text/")

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        names = (_("Pictures"), _("Sound"), _("Video"), _("Text"))
        return [*zip(self.kinds, names, strict=True), ("other", _("Something else"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Embed]) -> QuerySet[Embed]:
        if (chosen := self.value()) in self.kinds:
            return queryset.filter(content_type__startswith=chosen)
        if chosen == "other":
            return queryset.exclude(Q(*(("content_type__startswith", kind) for kind in self.kinds), _connector=Q.OR))
        return queryset


class Size(admin.SimpleListFilter):
    title = _("size")
    parameter_name = "size"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("1", _("1 MiB and more")), ("10", _("10 MiB and more"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Embed]) -> QuerySet[Embed]:
        chosen = self.value()
        return queryset.filter(blob__size__gte=int(chosen) * MIB) if chosen in ("1", "10") else queryset


@admin.register(Embed)
class EmbedAdmin(UntouchableAdmin):
    """To look at: embeds never change, and those in conversations go with them."""

    list_display = ("id", "owner", "content_type", "size", "created", "touched")
    list_select_related = ("owner", "blob")
    list_filter = (("owner", AutocompleteSelectFilter), Kind, Size, "created")
    search_fields = ("^owner__username", "=blob__sha256")
    search_help_text = _("Beginning of an owner's name, or a SHA-256")
    ordering = ("-pk",)
    sorted_by: ClassVar = {"created": "pk"}
    fields = ("id", "owner", "content_type", "size", "sha256", "created", "touched")
    readonly_fields = fields
    actions = ("remove_unreferenced",)

    @admin.display(description=_("size"))
    def size(self, embed: Embed) -> str:
        return filesizeformat(embed.blob.size)

    @admin.display(description="SHA-256")
    def sha256(self, embed: Embed) -> str:
        return embed.blob.sha256

    @admin.action(description=_("Remove those that nothing refers to"), permissions=["remove"])
    def remove_unreferenced(self, request: HttpRequest, queryset: QuerySet[Embed]) -> None:
        chosen = list(queryset.values_list("pk", flat=True))
        removed = async_to_sync(actions.remove_unreferenced)(ids=chosen, older_than=timedelta(0))
        with transaction.atomic():
            record(by=operator(request), object=Embed, message=f"Removed {removed} that nothing referred to.")
        told = ngettext("%(removed)s of %(number)s removed.", "%(removed)s of %(number)s removed.", len(chosen))
        messages.success(request, told % {"removed": removed, "number": len(chosen)})

    def has_remove_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("embeds.delete_embed")


@tell_of_users
def attachments_of(user: User) -> Fact:
    """How many attachments a user has, and how large they are."""
    sums = Embed.objects.filter(owner=user).aggregate(number=Count("pk"), size=Sum("blob__size"))
    words = gettext("%(number)s, %(size)s") % {"number": sums["number"], "size": filesizeformat(sums["size"] or 0)}
    listed = f"{reverse('admin:embeds_embed_changelist')}?owner__id__exact={user.pk}"
    return Fact(_("Attachments"), words, listed)
