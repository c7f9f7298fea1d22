"""The administrator's view of people, organizations, keys and usage."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now, TruncDate
from django.http import HttpRequest
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.actions import revoke_api_key, save_organization
from accounts.models import ApiKey, Membership, Organization, Owner, SigningKey, UsageDay, User
from common.handles import validate_handle


def check_free(handle: str, *, own: int | None) -> str:
    """Returns `handle`; raises ValidationError where an owner other than `own` has that name in any case."""
    others = Owner.objects.filter(handle__iexact=handle)
    if own is not None:
        others = others.exclude(pk=own)
    if others.exists():
        raise ValidationError("That name is taken.")
    return handle


class UserForm(UserChangeForm):  # type: ignore[misc]  # unfold is untyped
    def clean_username(self) -> str:
        return check_free(self.cleaned_data["username"], own=self.instance.owner_id)


class NewUserForm(UserCreationForm):  # type: ignore[misc]  # unfold is untyped
    class Meta:
        model = User
        fields = ("username",)

    def clean_username(self) -> str:
        return check_free(self.cleaned_data["username"], own=None)


class OrganizationForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic at run time
    handle = forms.CharField(max_length=50, validators=[validate_handle], widget=UnfoldAdminTextInputWidget)

    class Meta:
        model = Organization
        fields = ("name",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.fields["handle"].initial = self.instance.owner.handle

    def clean_handle(self) -> str:
        own = self.instance.owner_id if self.instance.pk is not None else None
        return check_free(self.cleaned_data["handle"], own=own)


class ReadOnlyAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Rows that only the platform writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    pass


@admin.register(User)
class UserAdmin(BaseUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]  # unfold is untyped
    form = UserForm
    add_form = NewUserForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "used_today", "daily_query_limit")
    fieldsets = (*(BaseUserAdmin.fieldsets or ()), ("Quota", {"fields": ("daily_query_limit",)}))

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        today = UsageDay.objects.filter(user=OuterRef("pk"), agent=None, day=TruncDate(Now()))
        people: QuerySet[User] = super().get_queryset(request).select_related("owner")
        return people.annotate(used_today=Coalesce(Subquery(today.values("queries")[:1]), 0))

    @admin.display(description="queries today", ordering="used_today")
    def used_today(self, user: Any) -> int:
        used: int = user.used_today
        return used


class MembershipInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    model = Membership
    autocomplete_fields = ("user",)
    extra = 0


@admin.register(Organization)
class OrganizationAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    form = OrganizationForm
    fields = ("handle", "name")
    list_display = ("owner", "name")
    list_select_related = ("owner",)
    search_fields = ("owner__handle", "name")
    inlines = (MembershipInline,)

    def save_model(self, request: HttpRequest, obj: Organization, form: Any, change: bool) -> None:
        save_organization(organization=obj, handle=form.cleaned_data["handle"])


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = ("name", "user", "created", "last_used", "revoked")
    list_select_related = ("user",)
    list_filter = (("revoked", admin.EmptyFieldListFilter),)
    search_fields = ("name", "user__username")
    actions = ("revoke",)

    @admin.action(description="Revoke the selected keys", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        assert isinstance(request.user, User)
        for key in queryset:
            revoke_api_key(key=key, by=request.user)
        self.message_user(request, "The keys are revoked.", messages.SUCCESS)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)


@admin.register(SigningKey)
class SigningKeyAdmin(ReadOnlyAdmin):
    list_display = ("kid", "state", "created", "retired")
    list_filter = ("state",)
    fields = ("kid", "state", "created", "retired")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(UsageDay)
class UsageDayAdmin(ReadOnlyAdmin):
    list_display = ("day", "user", "agent", "queries", "prompt_tokens", "completion_tokens")
    list_select_related = ("user",)
    list_filter = ("day",)
    search_fields = ("user__username",)
