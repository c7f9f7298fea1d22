"""The administrator's view of people: who they are, what they use, and what an operator does about it."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group
from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now, TruncDate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import action
from unfold.forms import AdminPasswordChangeForm

from accounts.actions import grant_credits
from accounts.admin.permissions import NamesPermissions
from accounts.admin.user_forms import CreditsForm, LimitsForm, NewUserForm, UserForm
from accounts.admin.user_pages import UserPages
from accounts.admin_parts import LIMITS, CountsWhatGoes, LimitsInHistory
from accounts.asking import Operates, operator
from accounts.exports import Exports
from accounts.models import UsageDay, User
from accounts.operating import delete_account, may_operate_on, revoke_keys, set_active, set_limits
from accounts.sign_in_as import may_sign_in_as
from common.errors import FixieError
from common.long_lists import LongList

# Whoever gives these gives everything.
SUPERUSERS_FIELDS = ("is_staff", "is_superuser", "groups", "user_permissions")

admin.site.unregister(Group)


@admin.register(Group)
class GroupAdmin(NamesPermissions, BaseGroupAdmin, ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    def has_add_permission(self, request: HttpRequest) -> bool:
        return operator(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return operator(request).is_superuser


@admin.register(User)
class UserAdmin(  # type: ignore[misc]  # unfold is untyped
    CountsWhatGoes,
    LimitsInHistory,
    NamesPermissions,
    Operates,
    Exports,
    UserPages,
    BaseUserAdmin,  # type: ignore[type-arg]  # no generic at run time
    LongList,
):
    form = UserForm
    add_form = NewUserForm
    change_password_form = AdminPasswordChangeForm
    list_display = (
        *("username", "email", "is_active", "is_staff", "used_today", "daily_query_limit", "credits", "last_login"),
    )
    list_filter = ("is_active", "is_staff", "is_superuser", "last_login", "date_joined")
    search_fields = ("^username", "^email")
    search_help_text = _("Beginning of a name or an e-mail address")
    ordering = ("username",)
    sorted_by: ClassVar = {"username": "username"}
    fieldsets = (
        (None, {"fields": ("username", "password", "is_active")}),
        (_("Personal info"), {"fields": ("first_name", "last_name", "email")}),
        (_("Quota"), {"fields": (*LIMITS, "credits_left", "usage")}),
        (_("Important dates"), {"fields": ("last_login", "date_joined")}),
        (_("Permissions"), {"fields": SUPERUSERS_FIELDS, "classes": ("collapse",)}),
    )
    readonly_fields = ("last_login", "date_joined", "credits_left", "usage")
    actions = ("deactivate", "activate", "limit", "grant", "revoke", "export_chosen")
    actions_detail: ClassVar = (
        "sign_in_as",
        {"title": _("Change"), "items": ("grant", "limit", "choose_keys", "deactivate", "activate")},
    )
    exported = (
        *("username", "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser"),
        *("used_today", *LIMITS, "credits", "last_login", "date_joined"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        today = UsageDay.objects.filter(user=OuterRef("pk"), agent=None, day=TruncDate(Now()))
        people: QuerySet[User] = super().get_queryset(request).select_related("owner")
        return people.annotate(used_today=Coalesce(Subquery(today.values("queries")[:1]), 0))

    @admin.display(description=_("queries today"))
    def used_today(self, user: Any) -> int:
        used: int = user.used_today
        return used

    @admin.display(description=_("credits"))
    def credits_left(self, user: User) -> str:
        ledger, grant = (reverse(f"admin:accounts_creditentry_{view}") for view in ("changelist", "add"))
        return format_html(
            '{} · <a href="{}?user__id__exact={}">{}</a> · <a href="{}?user={}">{}</a>',
            *(user.credits, ledger, user.pk, _("ledger"), grant, user.pk, _("grant credits")),
        )

    @admin.display(description=_("usage"))
    def usage(self, user: User) -> str:
        days = reverse("admin:accounts_usageday_changelist")
        return format_html('<a href="{}?user__id__exact={}">{}</a>', days, user.pk, _("by day and agent"))

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        try:
            answer: HttpResponse = super().delete_view(request, object_id, extra_context)
        except FixieError as error:
            messages.error(request, error.told())
            return redirect("admin:accounts_user_change", object_id)
        return answer

    def delete_model(self, request: HttpRequest, obj: User) -> None:
        delete_account(user=obj, by=operator(request))

    def get_actions(self, request: HttpRequest) -> Any:
        """Accounts are deleted one by one: the page of each tells what goes with it."""
        return {name: each for name, each in super().get_actions(request).items() if name != "delete_selected"}

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        allowed = bool(super().has_delete_permission(request, obj))
        return allowed and (obj is None or may_operate_on(operator(request), obj))

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> Any:
        own = super().get_readonly_fields(request, obj)
        return own if operator(request).is_superuser else (*own, *SUPERUSERS_FIELDS)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Whoever could change an operator's account could sign in as them."""
        allowed = bool(super().has_change_permission(request, obj))
        return allowed and (obj is None or may_operate_on(operator(request), obj))

    def has_grant_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perm("accounts.add_creditentry")

    def has_revoke_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perm("accounts.change_apikey")

    def has_switch_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return bool(super().has_change_permission(request))

    def has_deactivate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_switch_permission(request) and _is_active(object_id) is not False

    def has_activate_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return self.has_switch_permission(request) and _is_active(object_id) is not True

    def has_sign_in_as_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        user = _loaded(object_id)
        return user is not None and may_sign_in_as(operator(request), user)

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Deactivate"), permissions=["deactivate"], url_path="deactivate"
    )
    def deactivate(
        self, request: HttpRequest, queryset: QuerySet[User] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda user, _form: set_active(user=user, by=operator(request), active=False),
            title=gettext("Deactivate"),
            button=gettext("Deactivate"),
            explained=gettext("They cannot sign in any more, and their keys are refused at once. Nothing is deleted."),
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Activate"), permissions=["activate"], url_path="activate"
    )
    def activate(
        self, request: HttpRequest, queryset: QuerySet[User] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda user, _form: set_active(user=user, by=operator(request), active=True),
            title=gettext("Activate"),
            button=gettext("Activate"),
            explained=gettext("They can sign in again, and keys that are not revoked are good again."),
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Set limits"), permissions=["switch"], url_path="limit"
    )
    def limit(
        self, request: HttpRequest, queryset: QuerySet[User] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda user, limits: set_limits(user=user, by=operator(request), **limits),
            title=gettext("Set limits"),
            button=gettext("Set limits"),
            form=LimitsForm,
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Grant credits"), permissions=["grant"], url_path="grant"
    )
    def grant(
        self, request: HttpRequest, queryset: QuerySet[User] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda user, granted: grant_credits(user=user, by=operator(request), **granted),
            title=gettext("Grant credits"),
            button=gettext("Grant credits"),
            form=CreditsForm,
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Revoke all keys"), permissions=["revoke"], url_path="revoke"
    )
    def revoke(
        self, request: HttpRequest, queryset: QuerySet[User] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda user, _form: revoke_keys(user=user, by=operator(request)),
            title=gettext("Revoke all keys"),
            button=gettext("Revoke all keys"),
            explained=gettext("Programs that use them are refused at once. This cannot be undone."),
        )


def _loaded(object_id: object) -> User | None:
    text = str(object_id or "")
    return User.objects.filter(pk=int(text)).first() if text.isdecimal() and len(text) < 19 else None


def _is_active(object_id: object) -> bool | None:
    """None where it is about nobody in particular."""
    user = _loaded(object_id)
    return None if user is None else user.is_active
