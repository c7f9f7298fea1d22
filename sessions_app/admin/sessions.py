"""Sessions for administrators: whose, with whom, how long. What is said in them is shown only to who opens it."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Length
from django.http import Http404, HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import action, display

from accounts.admin.user_panels import Fact, tell_of_users
from accounts.admin_parts import CountsWhatGoes, ReadOnlyAdmin, UntouchableAdmin
from accounts.asking import ASKED, Operates, Reason, ask, operator
from accounts.models import User
from sessions_app import actions
from sessions_app.admin import overseeing
from sessions_app.admin.content import page_of, run_url
from sessions_app.admin.filters import SessionState, TimeRange
from sessions_app.durations import between
from sessions_app.models import AgentContext, Run, Session, SharedLink, naming_agents


class _ToLookAt(TabularInline):  # type: ignore[misc]  # unfold is untyped
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Session | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Session | None = None) -> bool:
        return False


class RunInline(_ToLookAt):
    model = Run
    fields = ["page", "agent", "state", "error_code", "took", "tokens", "created"]
    readonly_fields = fields
    ordering = ["-query_seq"]
    per_page = 20
    verbose_name_plural = _("runs")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        return naming_agents(super().get_queryset(request))

    @admin.display(description=_("run"))
    def page(self, run: Run) -> str:
        return format_html('<a class="fx-link" href="{}">{}</a>', run_url(run.pk), run.query_seq)

    @admin.display(description=_("state"))
    def state(self, run: Run) -> str:
        state = run.get_status_display()
        return gettext("%(state)s, copied") % {"state": state} if run.copied else state

    @admin.display(description=_("took"))
    def took(self, run: Run) -> str:
        return between(run.created, run.finished)

    @admin.display(description=_("tokens"))
    def tokens(self, run: Run) -> int:
        return run.prompt_tokens + run.completion_tokens


class ContextInline(_ToLookAt):
    """What agents keep with the session; how much, not what."""

    model = AgentContext
    fields = ["agent", "size", "modified"]
    readonly_fields = fields
    verbose_name_plural = _("what agents keep with it")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentContext]:
        contexts: QuerySet[AgentContext] = super().get_queryset(request)
        sized = contexts.annotate(characters=Length(Cast("context", TextField()))).defer("context")
        return sized.select_related("agent__owner")

    @admin.display(description=_("size"))
    def size(self, context: Any) -> str:
        return filesizeformat(context.characters)


class LinkInline(_ToLookAt):
    model = SharedLink
    fields = ["created", "last_seq", "revoked"]
    readonly_fields = fields
    verbose_name_plural = _("shared links")


@admin.register(Session)
class SessionAdmin(CountsWhatGoes, ReadOnlyAdmin):
    list_display = ["handle", "owner", "front_agent", "messages", "state", "created", "active"]
    list_display_links = ["handle"]
    list_select_related = ["owner"]
    list_filter = [
        ("owner", AutocompleteSelectFilter),
        ("agent", AutocompleteSelectFilter),
        SessionState,
        ("created", TimeRange),
    ]
    search_fields = ["handle__exact"]
    search_help_text = _("The three words of a session")
    ordering = ["-pk"]
    sorted_by: ClassVar = {"handle": "handle", "created": "pk"}
    fields = ["handle", "owner", "front_agent", "messages", "state_told", "created", "active", "branch"]
    readonly_fields = fields
    hidden_lookups = ("title", "name", "description")
    inlines = [RunInline, ContextInline, LinkInline]
    actions_detail = ["read_content"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Session]:
        sessions: QuerySet[Session] = super().get_queryset(request)
        return naming_agents(sessions).select_related("owner", "branched_from").defer("title", "name", "description")

    def get_ordering(self, request: HttpRequest) -> list[str]:
        # Of long ago by the index of times: by their ids all newer ones would be passed by.
        return ["-created"] if any(name.startswith("created_") for name in request.GET) else ["-pk"]

    @admin.display(description=_("agent"))
    def front_agent(self, session: Session) -> str:
        return session.agent.agent_id if session.agent else ""

    @admin.display(description=_("messages"))
    def messages(self, session: Session) -> int:
        return session.last_seq

    @display(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("state"),
        label={"working": "info", "deleted": "danger", "archived": "default"},
    )
    def state(self, session: Session) -> tuple[str, str] | None:
        if session.deleted:
            return "deleted", gettext("deleted")
        if session.runs:
            return "working", gettext("at work")
        return ("archived", gettext("archived")) if session.archived else None

    @admin.display(description=_("state"))
    def state_told(self, session: Session) -> str:
        state = self.state(session)
        return state[1] if state else "-"

    @admin.display(description=_("branched from"))
    def branch(self, session: Session) -> str:
        origin = session.branched_from
        if origin is None:
            return "-"
        page = reverse("admin:sessions_app_session_change", args=[origin.pk])
        return format_html('<a class="fx-link" href="{}">{}</a>, {}', page, origin.handle, session.branch_seq)

    def has_read_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return self.has_view_permission(request) and request.user.has_perm("sessions_app.read_content")

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Read what was said"), permissions=["read"], url_path="content"
    )
    def read_content(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Shows a page of messages to who says why; the next time they say it again."""
        session: Session | None = self.get_object(request, object_id)
        if session is None:
            raise Http404
        form = Reason(request.POST if ASKED in request.POST else None)
        if not form.is_valid():
            return ask(
                *(self, request, form),
                title=gettext("Read what was said"),
                button=gettext("Read"),
                explained=gettext("That you read it, and why, is kept in the audit log. It is shown this once."),
                chosen=[session],
                back=reverse("admin:sessions_app_session_change", args=[session.pk]),
            )
        reason = form.cleaned_data["reason"]
        page = page_of(session, before=request.POST.get("before", ""))
        overseeing.open_content(session=session, by=operator(request), reason=reason, what=page.told)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": session.handle,
            "session": session,
            "page": page,
            "reason": reason,
            "asked": ASKED,
        }
        return TemplateResponse(request, "admin/sessions_app/content.html", context)

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        actions.delete_session(session=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> None:
        for session in queryset:
            actions.delete_session(session=session)


@admin.register(SharedLink)
class SharedLinkAdmin(Operates, UntouchableAdmin):
    """Who shows what to whoever has the link. The link itself is nobody's to see but its owner's."""

    list_display = ["made", "session", "owner", "last_seq", "revoked"]
    list_select_related = ["session__owner"]
    list_filter = [("session__owner", AutocompleteSelectFilter), ("revoked", admin.EmptyFieldListFilter)]
    search_fields = ["session__handle__exact"]
    search_help_text = _("The three words of a session")
    ordering = ["-pk"]
    sorted_by: ClassVar = {"made": "pk"}
    fields = ["session", "owner", "last_seq", "created", "revoked"]
    readonly_fields = fields
    hidden_lookups = ("token",)
    actions = ["revoke"]
    actions_detail = ["revoke"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SharedLink]:
        links: QuerySet[SharedLink] = super().get_queryset(request)
        return links.select_related("session__owner").defer("token", "session__title", "session__name")

    @admin.display(description=_("shared"), ordering="pk")
    def made(self, link: SharedLink) -> Any:
        return link.created

    @admin.display(description=_("owner"))
    def owner(self, link: SharedLink) -> str:
        return link.session.owner.username

    def has_revoke_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perm("sessions_app.change_sharedlink")

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Revoke"), permissions=["revoke"], url_path="revoke"
    )
    def revoke(
        self, request: HttpRequest, queryset: QuerySet[SharedLink] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda link, _form: overseeing.revoke_shared_link(link=link, by=operator(request)),
            title=gettext("Revoke"),
            button=gettext("Revoke"),
            explained=gettext("Nobody reads the conversation by this link any more. Its owner can share it anew."),
        )


@tell_of_users
def sessions_of(user: User) -> Fact:
    """How many sessions a user has, and where they are listed."""
    listed = f"{reverse('admin:sessions_app_session_changelist')}?owner__id__exact={user.pk}"
    return Fact(_("Sessions"), str(Session.objects.filter(owner=user).count()), listed)
