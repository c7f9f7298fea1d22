"""Runs for administrators: finding them, seeing where their time went, stopping them and asking again."""

from datetime import datetime
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.decorators import action, display

from accounts.admin_parts import ReadOnlyAdmin
from accounts.asking import ASKED, Operates, Question, Reason, ask, operator
from common.errors import FixieError
from common.handles import parse_uuid
from sessions_app.admin import overseeing
from sessions_app.admin.content import run_url
from sessions_app.admin.filters import UNFINISHED, ErrorCode, RunState, TimeRange
from sessions_app.admin.waterfall import Waterfall, messages_of, runs_of, waterfall
from sessions_app.durations import between
from sessions_app.models import Run, naming_agents

STATES = {
    Run.Status.QUEUED: "default",
    Run.Status.IN_PROGRESS: "info",
    Run.Status.COMPLETED: "success",
    Run.Status.FAILED: "danger",
    Run.Status.CANCELED: "warning",
}


@admin.register(Run)
class RunAdmin(Operates, ReadOnlyAdmin):
    """Those that were asked. What a branch copied from its origin is listed with its session alone."""

    list_display = ["made", "agent_name", "user", "of_session", "state", "error", "took", "tokens"]
    list_filter = [
        ("session__owner", AutocompleteSelectFilter),
        ("agent", AutocompleteSelectFilter),
        RunState,
        ErrorCode,
        ("created", TimeRange),
    ]
    search_fields = ["pk"]
    search_help_text = _("The id of a run, or the three words of a session")
    ordering = ["-created"]
    sorted_by: ClassVar = {"made": "created"}
    fields = [
        ("run_id", "of_session"),
        ("user", "agent_name"),
        ("state_told", "error"),
        ("made", "began", "ended"),
        ("took", "tokens"),
        ("process", "epoch", "beat"),
        ("step", "cancel_requested", "parent_run"),
    ]
    readonly_fields = [name for row in fields for name in row]
    actions = ["cancel"]
    actions_detail = ["read_content", "cancel", "retry"]
    change_form_outer_before_template = "admin/sessions_app/run_picture.html"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        runs: QuerySet[Run] = super().get_queryset(request)
        named = naming_agents(runs).select_related("session__owner")
        return named.defer("session__title", "session__name", "session__description")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Run], search_term: str
    ) -> tuple[QuerySet[Run], bool]:
        term = search_term.strip().replace("\0", "")
        if not term:
            return queryset.filter(copied=False), False
        run = parse_uuid(term)
        return (queryset.filter(pk=run) if run else queryset.filter(session__handle=term)), False

    @admin.display(description=_("run"))
    def run_id(self, run: Run) -> str:
        return str(run.pk)

    @admin.display(description=_("asked"), ordering="created")
    def made(self, run: Run) -> str:
        return _moment(run.created)

    @admin.display(description=_("began"))
    def began(self, run: Run) -> str:
        return _moment(run.started)

    @admin.display(description=_("ended"))
    def ended(self, run: Run) -> str:
        return _moment(run.finished)

    @admin.display(description=_("heartbeat"))
    def beat(self, run: Run) -> str:
        return _moment(run.heartbeat)

    @admin.display(description=_("agent"))
    def agent_name(self, run: Run) -> str:
        return run.agent.agent_id if run.agent else ""

    @admin.display(description=_("user"))
    def user(self, run: Run) -> str:
        return run.session.owner.username

    @admin.display(description=_("session"))
    def of_session(self, run: Run) -> str:
        page = reverse("admin:sessions_app_session_change", args=[run.session_id])
        return format_html('<a class="fx-link" href="{}">{}</a>', page, run.session.handle)

    @display(description=_("state"), label=STATES)  # type: ignore[untyped-decorator]  # unfold is untyped
    def state(self, run: Run) -> tuple[str, str]:
        return run.status, run.get_status_display()

    @admin.display(description=_("state"))
    def state_told(self, run: Run) -> str:
        return run.get_status_display()

    @admin.display(description=_("error"))
    def error(self, run: Run) -> str:
        return run.error_code

    @admin.display(description=_("took"))
    def took(self, run: Run) -> str:
        return between(run.created, run.finished)

    @admin.display(description=_("tokens"))
    def tokens(self, run: Run) -> int:
        return run.prompt_tokens + run.completion_tokens

    @admin.display(description=_("asked by the run"))
    def parent_run(self, run: Run) -> str:
        if run.parent_id is None:
            return "-"
        return format_html('<a class="fx-link" href="{}">{}</a>', run_url(run.parent_id), run.parent_id)

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False

    def has_cancel_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perm("sessions_app.change_run")

    def has_retry_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return request.user.has_perms(["sessions_app.change_run", "accounts.add_creditentry"])

    def has_read_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return self.has_view_permission(request) and request.user.has_perm("sessions_app.read_content")

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Those that mean something for the run as it is."""
        run = self.get_object(request, str(object_id))
        idle = set()
        if run is None or run.status not in UNFINISHED:
            idle.add("sessions_app_run_cancel")
        if run is None or not overseeing.is_retryable(run):
            idle.add("sessions_app_run_retry")
        return [each for each in super().get_actions_detail(request, object_id) if each.action_name not in idle]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        run: Run | None = self.get_object(request, object_id)
        picture = {"picture": _picture(run, content=False)} if run else {}
        answer: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **picture})
        return answer

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Cancel"), permissions=["cancel"], url_path="cancel"
    )
    def cancel(
        self, request: HttpRequest, queryset: QuerySet[Run] | None = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda run, _form: overseeing.cancel_run(run=run, by=operator(request)),
            title=gettext("Cancel"),
            button=gettext("Cancel the run"),
            explained=gettext(
                "What was written so far becomes the answer. Runs of agents that it asked are canceled with it."
            ),
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Ask again"), permissions=["retry"], url_path="retry"
    )
    def retry(self, request: HttpRequest, object_id: str) -> HttpResponse:
        run = self._run(request, object_id)
        if ASKED not in request.POST:
            return ask(
                *(self, request, Question()),
                title=gettext("Ask again"),
                button=gettext("Ask again"),
                explained=gettext(
                    "The same query is asked of the same agent, in the user's session and name, who see it there. They "
                    "get a credit for it, so that it costs them nothing."
                ),
                chosen=[run],
                back=run_url(run.pk),
            )
        try:
            posted = overseeing.retry_run(run=run, by=operator(request))
        except FixieError as error:
            messages.error(request, error.told())
            return HttpResponseRedirect(run_url(run.pk))
        messages.success(request, gettext("It is asked again: this is its run."))
        return HttpResponseRedirect(run_url(posted.run))

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Read what was said"), permissions=["read"], url_path="content"
    )
    def read_content(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Shows the steps with their texts to who says why; the next time they say it again."""
        run = self._run(request, object_id)
        form = Reason(request.POST if ASKED in request.POST else None)
        if not form.is_valid():
            return ask(
                *(self, request, form),
                title=gettext("Read what was said"),
                button=gettext("Read"),
                explained=gettext("That you read it, and why, is kept in the audit log. It is shown this once."),
                chosen=[run],
                back=run_url(run.pk),
            )
        reason = form.cleaned_data["reason"]
        overseeing.open_content(session=run.session, by=operator(request), reason=reason, what=f"run {run.pk}")
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": gettext("Run %(run)s") % {"run": run.pk},
            "run": run,
            "picture": _picture(run, content=True),
        }
        return TemplateResponse(request, "admin/sessions_app/run_content.html", context)

    def _run(self, request: HttpRequest, object_id: str) -> Run:
        run: Run | None = self.get_object(request, object_id)
        if run is None:
            raise Http404
        return run


def _moment(moment: datetime | None) -> str:
    return timezone.localtime(moment).strftime("%Y-%m-%d %H:%M:%S") if moment else "-"


def _picture(run: Run, *, content: bool) -> Waterfall:
    runs = runs_of(run)
    return waterfall(runs, messages_of(runs, content=content), now=timezone.now(), content=content)
