"""The administrator's page for the program that an agent runs, and what such programs wrote."""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.decorators import action
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.admin_parts import UntouchableAdmin
from accounts.models import User
from common.errors import InvalidRequest
from common.long_lists import LongList
from registry.access import may_set_command
from registry.admin.command_fields import ArgumentsField, EnvironmentField
from registry.commands import deploy_command
from registry.models import Agent, AgentLog, Revision
from registry.transports.stdio_jsonrpc.options import NUMBERS, CommandLine

TEXT_SHOWN = 200
# Labels of the limits, and what each is.
_LIMITS = {
    "processes": (_("Processes"), _("That answer at the same time, in each process of the site.")),
    "start_seconds": (_("Seconds to start"), _("That it may take to be running.")),
    "call_seconds": (_("Seconds for an answer"), _("Or those of all agents, where they are fewer.")),
    "idle_seconds": (_("Seconds without a call"), _("After which a process is ended.")),
    "memory_mb": (_("Megabytes of memory"), _("That each of its processes may have.")),
    "open_files": (_("Open files"), _("That each of its processes may have.")),
}


class CommandForm(forms.Form):
    """A CommandLine; `command_line` is the one that was filled in."""

    command = forms.CharField(
        label=_("Command"),
        widget=UnfoldAdminTextInputWidget,
        help_text=_("A full path, or the name of a program on the PATH. It runs as this site does, without a shell."),
    )
    args = ArgumentsField(label=_("Arguments"), help_text=_("One a line; or a JSON list of texts."))
    cwd = forms.CharField(
        label=_("Directory"), required=False, widget=UnfoldAdminTextInputWidget, help_text=_("Empty: one of its own.")
    )
    env = EnvironmentField(
        label=_("Environment"), help_text=_("NAME=value, one a line; or a JSON object of texts. It gets no other.")
    )
    command_line: CommandLine

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, (*__, whole) in NUMBERS.items():
            field, widget = (
                (forms.IntegerField, UnfoldAdminIntegerFieldWidget)
                if whole
                else (forms.FloatField, UnfoldAdminDecimalFieldWidget)
            )
            label, help_text = _LIMITS[name]
            self.fields[name] = field(label=label, widget=widget, help_text=help_text)

    def clean(self) -> dict[str, Any]:
        filled = self.cleaned_data
        if not self.errors:
            try:
                self.command_line = CommandLine.from_options(filled)
            except InvalidRequest as error:
                self.add_error(error.details["field"], error.told())
        return filled


class KeepsOptions(LongList):
    """That of what leads to the options of commands: a list looks them up for nobody who may not set them.

    An address such as `?options__env__TOKEN__startswith=a` would tell the secrets of a command's environment.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        if "options" in lookup.split("__") and not may_set_command(cast(User, request.user)):
            return False
        return bool(super().lookup_allowed(lookup, value, request))


class RunsCommands(KeepsOptions):
    """That of agents, with the page "Run a command"."""

    # By its name unfold would look for it in the database, at the checks before the first migration.
    def has_set_command_permission(self, request: HttpRequest, object_id: object = None) -> bool:
        return may_set_command(cast(User, request.user))

    @action(  # type: ignore[untyped-decorator]  # unfold is untyped
        description=_("Run a command"),
        url_path="command",
        permissions=["set_command"],
    )
    def run_command(self, request: HttpRequest, object_id: int) -> HttpResponse:
        """Has the agent run as a program on this machine from now on."""
        agent: Agent | None = self.get_object(request, str(object_id))
        if agent is None:
            raise Http404
        form = CommandForm(request.POST or None, initial=_current(agent))
        if form.is_valid():
            deploy_command(agent=agent, by=cast(User, request.user), command=form.command_line)
            self.log_change(request, agent, f"Runs {form.command_line.command}.")
            told = gettext("%(agent)s runs %(command)s from now on.")
            messages.success(request, told % {"agent": agent.agent_id, "command": form.command_line.command})
            return redirect("admin:registry_agent_change", agent.pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "title": gettext("Run a command for %(agent)s") % {"agent": agent.agent_id},
            "form": form,
            "button": gettext("Run it"),
        }
        return TemplateResponse(request, "admin/registry/form.html", context)


def _current(agent: Agent) -> dict[str, Any]:
    """What it runs now, or else the limits that a command has."""
    revision = agent.current_revision
    if revision is not None and revision.deployment == Revision.Deployment.COMMAND:
        return dict(revision.options)
    return {**CommandLine("none").as_options(), "command": ""}


@admin.register(AgentLog)
class AgentLogAdmin(UntouchableAdmin):
    """What the programs of all agents wrote to their standard error, newest first."""

    list_display = ["created", "agent", "process", "shortly"]
    list_select_related = ["agent__owner"]
    search_fields = ["=agent__handle", "=agent__owner__handle", "text"]
    search_help_text = _("An agent's handle, its owner, or words of the log")
    ordering = ["-pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[AgentLog]:
        rows: QuerySet[AgentLog] = super().get_queryset(request)
        return rows.select_related("agent__owner")

    @admin.display(description=_("text"))
    def shortly(self, row: AgentLog) -> str:
        return Truncator(row.text).chars(TEXT_SHOWN)
