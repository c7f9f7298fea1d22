"""What an operator does to one agent or to several, from the list and from an agent's page."""

from typing import Any, ClassVar
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action

from accounts.asking import Operates, operator
from registry import operating
from registry.fields import AgentFields
from registry.models import Agent, Corpus
from registry.specs import queries_of

Chosen = QuerySet[Agent] | None


class AgentOperations(Operates):
    """For the ModelAdmin of agents."""

    actions = (
        *("refresh_manifests", "check_health", "publish", "unpublish", "switch_on", "switch_off"),
        "export_chosen",
    )
    actions_detail: ClassVar = (
        "refresh_manifests",
        "check_health",
        {
            "title": _("Change"),
            "items": ("switch_on", "switch_off", "publish", "unpublish", "reindex", "try_routing", "run_command"),
        },
    )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Read the manifest again"), permissions=["change_it"], url_path="refresh"
    )
    def refresh_manifests(
        self, request: HttpRequest, queryset: Chosen = None, object_id: str | None = None
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda agent, _form: operating.refresh(agent=agent, by=operator(request)),
            title=gettext("Read the manifest again"),
            button=gettext("Read it"),
            at_once=True,
            explained=gettext("It is read in the background, in a moment. What has changed becomes a new revision."),
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Check health"), permissions=["change_it"], url_path="check"
    )
    def check_health(self, request: HttpRequest, queryset: Chosen = None, object_id: str | None = None) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda agent, _form: operating.check(agent=agent, by=operator(request)),
            title=gettext("Check health"),
            button=gettext("Check"),
            at_once=True,
            explained=gettext("Whether it answers is looked at in the background, in a moment."),
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Publish"), permissions=["publish"], url_path="publish"
    )
    def publish(self, request: HttpRequest, queryset: Chosen = None, object_id: str | None = None) -> HttpResponse:
        return self._change(
            *(request, queryset, object_id, gettext("Publish")),
            explained=gettext("Everybody can find it and ask it."),
            fields={"published": True},
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Unpublish"), permissions=["unpublish"], url_path="unpublish"
    )
    def unpublish(self, request: HttpRequest, queryset: Chosen = None, object_id: str | None = None) -> HttpResponse:
        return self._change(
            *(request, queryset, object_id, gettext("Unpublish")),
            explained=gettext("Only its owners can find it and ask it."),
            fields={"published": False},
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Switch on"), permissions=["switch_on"], url_path="on"
    )
    def switch_on(self, request: HttpRequest, queryset: Chosen = None, object_id: str | None = None) -> HttpResponse:
        return self._change(
            *(request, queryset, object_id, gettext("Switch on")),
            explained=gettext("It can be asked again."),
            fields={"enabled": True},
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Switch off"), permissions=["switch_off"], url_path="off"
    )
    def switch_off(self, request: HttpRequest, queryset: Chosen = None, object_id: str | None = None) -> HttpResponse:
        return self._change(
            *(request, queryset, object_id, gettext("Switch off")),
            explained=gettext("Nobody can ask it until it is switched on again. What it is answering goes on."),
            fields={"enabled": False},
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Read its documents again"), permissions=["reindex"], url_path="reindex"
    )
    def reindex(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.operate(
            *(request, None, object_id),
            act=lambda agent, _form: operating.reindex(agent=agent, by=operator(request)),
            title=gettext("Read its documents again"),
            button=gettext("Read them"),
            explained=gettext("What was read serves until it has been read anew."),
        )

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Try routing"), permissions=["try_routing"], url_path="route"
    )
    def try_routing(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Leads to the trial of the Router, with something that this agent can be asked."""
        agent: Agent | None = self.get_object(request, object_id)  # type: ignore[attr-defined]
        if agent is None:
            raise Http404
        text = next(iter(queries_of(agent, 1)), "")
        return HttpResponseRedirect(f"{reverse('admin:registry_routingrule_try_query')}?{urlencode({'text': text})}")

    def _change(
        self,
        request: HttpRequest,
        queryset: Chosen,
        object_id: str | None,
        title: str,
        *,
        explained: str,
        fields: AgentFields,
    ) -> HttpResponse:
        return self.operate(
            *(request, queryset, object_id),
            act=lambda agent, _form: operating.change(agent=agent, by=operator(request), **fields),
            title=title,
            button=title,
            explained=explained,
            at_once=True,
        )

    def has_change_it_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return bool(self.has_change_permission(request))  # type: ignore[attr-defined]

    def has_try_routing_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        needed = ("registry.view_routingrule", "registry.view_agent", "registry.view_samplequery")
        return operator(request).has_perms(needed)

    def has_publish_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return self.has_change_it_permission(request) and _is(object_id, published=False)

    def has_unpublish_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return self.has_change_it_permission(request) and _is(object_id, published=True)

    def has_switch_on_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return self.has_change_it_permission(request) and _is(object_id, enabled=False)

    def has_switch_off_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return self.has_change_it_permission(request) and _is(object_id, enabled=True)

    def has_reindex_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        corpora = Corpus.objects.filter(revision__agent__current_revision_id__isnull=False)
        return self.has_change_it_permission(request) and corpora.filter(revision__agent=_number(object_id)).exists()


def _is(object_id: object, **fields: bool) -> bool:
    """Whether the agent is so: only then its page offers the opposite. A list's action is about none in particular."""
    number = _number(object_id)
    return number is None or Agent.objects.filter(pk=number, **fields).exists()


def _number(object_id: Any) -> int | None:
    text = str(object_id or "")
    return int(text) if text.isdecimal() and len(text) < 19 else None
