"""The administrator's view of routing: rules to write and try, and what the index and the corpora hold."""

from typing import Any, cast

from asgiref.sync import async_to_sync
from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import action
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.admin_parts import UntouchableAdmin
from accounts.models import User
from common.errors import FixieError
from registry.forms import LinesField
from registry.models import (
    Agent,
    AgentIndex,
    Corpus,
    CorpusDocument,
    RoutingPreference,
    RoutingRule,
    SampleIndex,
    SampleQuery,
)
from registry.routing.ranking import AGENTS
from registry.routing.router import Candidate, Route, forget_rules, route

TEXT_SHOWN = 200
# Of the app above this one, whose sessions it is about.
READ_CONTENT = "sessions_app.read_content"
HEADERS = (_("Agent"), _("Name"), _("Score"), _("Nearest sample"), _("Similarity"))


class RuleForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only
    keywords = LinesField(
        label=_("Keywords"),
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
        help_text=_("One a line; a query falls under the rule if any of them is in it. None: every query does."),
    )


class ListedRuleForm(forms.ModelForm):  # type: ignore[type-arg]  # generic for the type checker only
    """A row of the list, whose fields say which rule they are of: a column's head is no label."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["aria-label"] = f"{field.label}: {self.instance}"


class PreferenceInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    """The agents that a rule prefers; the first one that can be asked is."""

    model = RoutingPreference
    fields = ["agent", "position"]
    autocomplete_fields = ["agent"]
    hide_title = True
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[RoutingPreference]:
        preferences: QuerySet[RoutingPreference] = super().get_queryset(request)
        return preferences.select_related("agent__owner")

    def formfield_for_foreignkey(self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        # Else each row would look for the owner whose name stands in the agent's.
        kwargs["queryset"] = Agent.objects.select_related("owner")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class Trial(forms.Form):
    """A query to be routed, but not asked."""

    text = forms.CharField(
        label=_("Query"), max_length=10_000, widget=UnfoldAdminTextareaWidget(attrs={"rows": 3, "dir": "auto"})
    )
    user = forms.CharField(
        label=_("User"),
        required=False,
        max_length=150,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Whose agents and corrections count; nobody's without a name."),
    )
    task_type = forms.CharField(label=_("Task type"), required=False, max_length=100, widget=UnfoldAdminTextInputWidget)

    def clean_user(self) -> User | None:
        """The user with that name; None where none is given."""
        name = self.cleaned_data["user"]
        user = User.objects.filter(username=name).first()
        if name and user is None:
            raise forms.ValidationError(_("There is no user of this name."))
        return user


@admin.register(RoutingRule)
class RoutingRuleAdmin(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Rules are few, and sorted by what decides among them."""

    form = RuleForm
    fields = ["task_type", "keywords", "priority", "enabled"]
    list_display = ["rule", "prefers", "priority", "enabled"]
    list_editable = ["priority", "enabled"]
    list_filter = ["enabled", "task_type"]
    ordering = ["-priority", "pk"]
    show_full_result_count = False
    inlines = [PreferenceInline]
    actions_list = ["try_query"]

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, form=ListedRuleForm, **kwargs)

    def get_queryset(self, request: HttpRequest) -> QuerySet[RoutingRule]:
        rules: QuerySet[RoutingRule] = super().get_queryset(request)
        return rules.prefetch_related("preferences__agent__owner")

    @admin.display(description=_("routing rule"))
    def rule(self, rule: RoutingRule) -> str:
        return f"{rule.task_type or gettext('any query')}: {', '.join(rule.keywords) or gettext('always')}"

    @admin.display(description=_("prefers"))
    def prefers(self, rule: RoutingRule) -> str:
        return ", ".join(preference.agent.agent_id for preference in rule.preferences.all())

    def has_try_permission(self, request: HttpRequest) -> bool:
        """It tells of agents that are not everybody's, and of corrections, which are what people asked."""
        user = cast(User, request.user)
        needed = ["registry.view_agent", "registry.view_samplequery", READ_CONTENT]
        return bool(self.has_view_permission(request)) and user.has_perms(needed)

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Try a query"),
        url_path="try",
        permissions=["try"],
    )
    def try_query(self, request: HttpRequest) -> HttpResponse:
        """Routes a query as for a user, and shows why it goes where it does. Nothing is asked or charged."""
        form = Trial(request.POST or None, initial={"text": request.GET.get("text", "")})
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": gettext("Try a query"),
            "form": form,
            "button": gettext("Route it"),
            **(_tried(form) if form.is_valid() else {}),
        }
        return TemplateResponse(request, "admin/registry/try_query.html", context)


def _tried(form: Trial) -> dict[str, Any]:
    """What the Router says, for the page."""
    asked = form.cleaned_data
    user = asked["user"]
    # A rule that has just been saved counts at once.
    forget_rules()
    try:
        found = async_to_sync(route)(
            asked["text"], user=user.pk if user else None, k=AGENTS, task_type=asked["task_type"]
        )
    except FixieError as error:
        return {"failure": error.told()}
    rows = [_row(candidate) for candidate in found.candidates]
    return {"found": found, "verdict": _verdict(found), "headers": HEADERS, "rows": rows}


def _verdict(found: Route) -> str:
    if found.rule is not None:
        words = gettext("A rule decides: %(rule)s. In this order: %(agents)s.")
        return words % {"rule": found.rule, "agents": ", ".join(found.preferred)}
    if not found.candidates:
        return gettext("There is no agent to choose from.")
    if found.abstain:
        return gettext("None fits well enough; the nearest are shown.")
    if found.is_close:
        return gettext("Two are near; the user is asked which.")
    return gettext("It goes to %(agent)s.") % {"agent": found.candidates[0].agent}


def _row(candidate: Candidate) -> tuple[str, ...]:
    sample = candidate.matched_query[:TEXT_SHOWN]
    return candidate.agent, candidate.name, f"{candidate.score:.2f}", sample, f"{candidate.similarity:.2f}"


class _IndexAdmin(UntouchableAdmin):
    """What the platform makes of agents; with them it goes."""


class _OfAgent(_IndexAdmin):
    list_select_related = ["agent__owner"]
    search_fields = ["=agent__handle", "=agent__owner__handle"]
    search_help_text = _("Handle or owner of the agent")


@admin.register(SampleQuery)
class SampleQueryAdmin(_OfAgent):
    """Corrections that somebody made for themselves are what they asked: for those who may read that."""

    list_display = ["shown", "agent", "source", "for_everybody", "clash", "created"]
    list_filter = ["source", ("user", admin.EmptyFieldListFilter), ("clash", admin.EmptyFieldListFilter)]
    list_select_related = ["agent__owner", "clash__owner"]
    search_fields = ["=agent__handle", "=agent__owner__handle", "text"]
    search_help_text = _("Handle or owner of the agent, or words of the text")
    ordering = ["-pk"]
    fields = ["agent", "text", "source", "user", "clash", "revision", "created"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SampleQuery]:
        samples: QuerySet[SampleQuery] = super().get_queryset(request)
        shown = samples if request.user.has_perm(READ_CONTENT) else samples.filter(user=None)
        return shown.select_related("agent__owner", "clash__owner").defer("embedding", "next_embedding")

    @admin.display(description=_("text"))
    def shown(self, sample: SampleQuery) -> str:
        return sample.text[:TEXT_SHOWN]

    @admin.display(description=_("for everybody"), boolean=True)
    def for_everybody(self, sample: SampleQuery) -> bool:
        return sample.user_id is None


@admin.register(AgentIndex)
class AgentIndexAdmin(_OfAgent):
    list_display = ["agent", "__str__", "error", "modified"]
    list_filter = [("error", admin.EmptyFieldListFilter)]
    ordering = ["-pk"]
    fields = ["agent", "revision", "done", "total", "error", "modified"]


@admin.register(SampleIndex)
class SampleIndexAdmin(_IndexAdmin):
    list_display = ["serving", "building", "done", "total", "error", "modified"]


class DocumentInline(TabularInline):  # type: ignore[misc]  # unfold is untyped
    model = CorpusDocument
    fields = ["source", "title", "content_type", "size", "status", "error", "fetched"]
    readonly_fields = fields
    ordering = ["pk"]
    extra = 0
    per_page = 50
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Corpus | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Corpus | None = None) -> bool:
        return False


@admin.register(Corpus)
class CorpusAdmin(_IndexAdmin):
    list_display = ["__str__", "agent", "kind", "status", "documents_done", "documents_failed", "vector_count", "error"]
    list_filter = ["status", "kind"]
    list_select_related = ["revision__agent__owner"]
    search_fields = ["=revision__agent__handle", "=revision__agent__owner__handle"]
    search_help_text = _("Handle or owner of the agent")
    ordering = ["-pk"]
    exclude = ["reader", "lease", "replaces"]
    inlines = [DocumentInline]

    @admin.display(description=_("agent"))
    def agent(self, corpus: Corpus) -> str:
        return corpus.revision.agent.agent_id
