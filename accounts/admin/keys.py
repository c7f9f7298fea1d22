"""The administrator's view of keys: people's API keys, and those that this site signs with. No key itself is shown."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import Count, Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from accounts import keyring
from accounts.actions import revoke_api_key, rotate_signing_key
from accounts.admin_parts import ReadOnlyAdmin, UntouchableAdmin
from accounts.asking import ASKED, Operates, Question, ask, operator
from accounts.models import ApiKey, SigningKey


@admin.register(ApiKey)
class ApiKeyAdmin(Operates, ReadOnlyAdmin):
    list_display = ("name", "user", "created", "last_used", "revoked")
    list_select_related = ("user",)
    list_filter = (("revoked", admin.EmptyFieldListFilter), "last_used", "created")
    search_fields = ("^user__username", "=name")
    search_help_text = _("Beginning of a user's name, or the name of a key")
    ordering = ("-pk",)
    sorted_by: ClassVar = {"created": "pk"}
    fields = ("name", "user", "created", "last_used", "revoked", "signing_key")
    actions = ("revoke",)
    actions_detail: ClassVar = ("revoke",)

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Revoke"), permissions=["revoke"], url_path="revoke"
    )
    def revoke(
        self, request: HttpRequest, queryset: QuerySet[ApiKey] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda key, _form: revoke_api_key(key=key, by=operator(request)),
            title=gettext("Revoke keys"),
            button=gettext("Revoke"),
            explained=gettext("Programs that use them are refused at once. This cannot be undone."),
        )

    def has_revoke_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perm("accounts.change_apikey")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """A key that is gone could not be told from one that never was: they are revoked."""
        return False


@admin.register(SigningKey)
class SigningKeyAdmin(UntouchableAdmin):
    list_display = ("kid", "state", "is_published", "good_keys", "created", "retired")
    list_filter = ("state",)
    ordering = ("-created",)
    fields = ("kid", "state", "created", "retired")
    actions_list: ClassVar = ("rotate",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SigningKey]:
        keys: QuerySet[SigningKey] = super().get_queryset(request)
        published = Q(pk__in=keyring.published().order_by().values("pk"))
        good = Count("apikey", filter=Q(apikey__revoked=None))
        return keys.defer("private_key").annotate(is_shown=published, good=good)

    @admin.display(description=_("published"), boolean=True)
    def is_published(self, key: Any) -> bool:
        """Whether it is in `/.well-known/jwks.json`, so that what it signed is good."""
        return bool(key.is_shown)

    @admin.display(description=_("API keys that it signed and are good"))
    def good_keys(self, key: Any) -> int:
        return int(key.good)

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Sign with the next key"), permissions=["rotate"], url_path="rotate"
    )
    def rotate(self, request: HttpRequest) -> HttpResponse:
        if ASKED not in request.POST:
            explained = gettext(
                "The next key signs from now on, and a new next one is published. Keys and tokens signed before stay "
                "good. Wait a minute before you do it again: agents look for new keys every 30 seconds."
            )
            title = gettext("Sign with the next key")
            return ask(self, request, Question(), title=title, button=title, explained=explained)
        key = rotate_signing_key(by=operator(request))
        messages.success(request, gettext("Now signing with %(kid)s.") % {"kid": key.kid})
        return redirect("admin:accounts_signingkey_changelist")

    def has_rotate_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perm("accounts.change_signingkey")
