"""The administrator's view of people, organizations, keys and usage."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as BaseGroupAdmin
from django.contrib.auth.admin import UserAdmin as BaseUserAdmin
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now, TruncDate
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from oauth2_provider.models import AccessToken, Grant, IDToken, RefreshToken
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.actions import grant_credits, revoke_api_key
from accounts.models import ApiKey, CreditEntry, Membership, Organization, Owner, SigningKey, UsageDay, User
from accounts.organizations import save_organization
from common.errors import FixieError
from common.handles import validate_handle

LIMITS = ("daily_query_limit", "daily_token_limit")


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


class LimitsInHistory:
    """For a ModelAdmin: its history tells what a limit was and what it became, not only that it was changed."""

    limits: ClassVar[tuple[str, ...]] = LIMITS

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        message = super().construct_change_message(request, form, formsets, add)  # type: ignore[misc]
        told = {form.fields[limit].label: _change(form, limit) for limit in self.limits if limit in form.changed_data}
        for part in message:
            if "name" not in part.get("changed", {"name": "an inline's"}):
                part["changed"]["fields"] = [told.get(label, label) for label in part["changed"]["fields"]]
        return message


def _change(form: Any, limit: str) -> str:
    before, now = form.initial.get(limit), form.cleaned_data[limit]
    return f"{limit}: {'none' if before is None else before} → {'none' if now is None else now}"


admin.site.unregister(Group)
# Of django-oauth-toolkit only programs are of interest (`application_admin`): no tokens are kept, codes for a minute.
admin.site.unregister((AccessToken, Grant, IDToken, RefreshToken))


@admin.register(Group)
class GroupAdmin(BaseGroupAdmin, ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    pass


@admin.register(User)
class UserAdmin(LimitsInHistory, BaseUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]  # unfold is untyped
    form = UserForm
    add_form = NewUserForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "email", "is_active", "is_staff", "used_today", "daily_query_limit")
    fieldsets = (*(BaseUserAdmin.fieldsets or ()), ("Quota", {"fields": (*LIMITS, "credits_left", "usage")}))
    readonly_fields = ("credits_left", "usage")

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        today = UsageDay.objects.filter(user=OuterRef("pk"), agent=None, day=TruncDate(Now()))
        people: QuerySet[User] = super().get_queryset(request).select_related("owner")
        return people.annotate(used_today=Coalesce(Subquery(today.values("queries")[:1]), 0))

    @admin.display(description="queries today", ordering="used_today")
    def used_today(self, user: Any) -> int:
        used: int = user.used_today
        return used

    @admin.display(description="credits")
    def credits_left(self, user: User) -> str:
        ledger, grant = (reverse(f"admin:accounts_creditentry_{view}") for view in ("changelist", "add"))
        return format_html(
            '{} · <a href="{}?user__id__exact={}">ledger</a> · <a href="{}?user={}">grant credits</a>',
            *(user.credits, ledger, user.pk, grant, user.pk),
        )

    @admin.display(description="usage")
    def usage(self, user: User) -> str:
        days = reverse("admin:accounts_usageday_changelist")
        return format_html('<a href="{}?user__id__exact={}">by day and agent</a>', days, user.pk)

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """Nobody may delete usage or a line of the ledger; with their user they go all the same."""
        deleted, counts, forbidden, protected = super().get_deleted_objects(objs, request)
        going = {str(model._meta.verbose_name) for model in (CreditEntry, UsageDay)}
        return deleted, counts, {name for name in forbidden if str(name) not in going}, protected


class MembershipFormSet(forms.BaseInlineFormSet):  # type: ignore[type-arg]  # no generic at run time
    def clean(self) -> None:
        super().clean()
        if any(self.errors):
            return
        roles = [form.cleaned_data.get("role") for form in self.forms if not form.cleaned_data.get("DELETE")]
        if any(roles) and Membership.Role.ADMIN not in roles:
            raise ValidationError("One of the members must be an admin.")


class MembershipInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    model = Membership
    formset = MembershipFormSet
    fields = ("user", "role")
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


class CreditForm(forms.ModelForm):  # type: ignore[type-arg]  # no generic at run time
    class Meta:
        model = CreditEntry
        fields = ("user", "amount", "reason")
        help_texts = {"amount": "Queries; less than 0 takes some back.", "reason": "The user can read it."}


@admin.register(CreditEntry)
class CreditEntryAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """The ledger: lines are added, and never changed or deleted."""

    form = CreditForm
    fields = ("user", "amount", "reason")
    autocomplete_fields = ("user",)
    list_display = ("created", "user", "amount", "reason", "granted_by", "run")
    list_select_related = ("user", "granted_by")
    search_fields = ("user__username", "reason")
    ordering = ("-pk",)
    show_full_result_count = False

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        try:
            answer: HttpResponse = super().add_view(request, form_url, extra_context)
        except FixieError as error:
            self.message_user(request, error.message, messages.ERROR)
            written = urlencode({name: request.POST.get(name, "") for name in self.fields})
            return HttpResponseRedirect(f"{request.path}?{written}")
        return answer

    def save_model(self, request: HttpRequest, obj: CreditEntry, form: Any, change: bool) -> None:
        assert isinstance(request.user, User)
        obj.pk = grant_credits(user=obj.user, amount=obj.amount, reason=obj.reason, by=request.user).pk

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
