"""The administrator's view of organizations: members, how many agents they have, and what these answered."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline

from accounts.admin.user_forms import MembershipFormSet, OrganizationForm
from accounts.exports import Exports
from accounts.models import Membership, Organization, Owner
from accounts.organizations import save_organization
from common.long_lists import LongList


class MembershipInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    model = Membership
    verbose_name = _("member")
    verbose_name_plural = _("members")
    formset = MembershipFormSet
    fields = ("user", "role")
    autocomplete_fields = ("user",)
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        members: QuerySet[Membership] = super().get_queryset(request)
        return members.select_related("user")

    def formfield_for_choice_field(self, *args: Any, **kwargs: Any) -> Any:
        """Names the field: in a table there is no label but the head of the column."""
        field = super().formfield_for_choice_field(*args, **kwargs)
        field.widget.attrs["aria-label"] = field.label
        return field


@admin.register(Organization)
class OrganizationAdmin(Exports, LongList):
    form = OrganizationForm
    fields = ("handle", "name", "agents")
    readonly_fields = ("agents",)
    list_display = ("owner", "name", "member_count", "agents")
    list_select_related = ("owner",)
    search_fields = ("^owner__handle", "name")
    search_help_text = _("Beginning of a handle, or words of the name")
    ordering = ("owner__handle",)
    inlines = (MembershipInline,)
    actions = ("export_chosen",)
    exported = ("owner.handle", "name", "member_count", "agent_count")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Organization]:
        organizations: QuerySet[Organization] = super().get_queryset(request)
        members = Membership.objects.filter(organization=OuterRef("pk")).order_by().values("organization")
        owned = Owner.objects.filter(pk=OuterRef("owner")).order_by().values("pk")
        return organizations.annotate(
            members_in_all=Coalesce(Subquery(members.annotate(n=Count("pk")).values("n")), 0),
            agents_in_all=Coalesce(Subquery(owned.annotate(n=Count("agents")).values("n")), 0),
        )

    @admin.display(description=_("members"))
    def member_count(self, organization: Any) -> int:
        return int(organization.members_in_all)

    def agent_count(self, organization: Any) -> int:
        return int(organization.agents_in_all)

    @admin.display(description=_("agents"))
    def agents(self, organization: Any) -> str:
        if organization.pk is None:
            return ""
        listed = reverse("admin:registry_agent_changelist")
        number = self.agent_count(organization)
        return format_html('<a href="{}?owner__id__exact={}">{}</a>', listed, organization.owner_id, number)

    def save_model(self, request: HttpRequest, obj: Organization, form: Any, change: bool) -> None:
        save_organization(organization=obj, handle=form.cleaned_data["handle"])


@admin.register(Owner)
class OwnerAdmin(LongList):
    """For filters to choose one by a few letters; it has no page of its own."""

    search_fields = ("^handle",)
    ordering = ("handle",)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False

    def has_view_permission(self, request: HttpRequest, obj: Owner | None = None) -> bool:
        """Names of owners are on every public agent's page."""
        return bool(request.user.is_staff)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Owner | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Owner | None = None) -> bool:
        return False
