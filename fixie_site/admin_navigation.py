"""The admin's sidebar: pages by what an operator is about to do, each shown to those who may open it."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Page = tuple[Promise, str, str]

# Titles, icons (of Material Symbols, whose font is one of unfold's own files) and models. One whose admin is not
# registered is left out; all of them are under "All applications" too.
GROUPS: tuple[tuple[Promise, tuple[Page, ...]], ...] = (
    (
        _("People"),
        (
            (_("Users"), "person", "accounts.User"),
            (_("Organizations"), "groups", "accounts.Organization"),
            (_("API keys"), "key", "accounts.ApiKey"),
            (_("Usage"), "bar_chart", "accounts.UsageDay"),
            (_("Credits"), "payments", "accounts.CreditEntry"),
            (_("Permissions"), "shield_person", "auth.Group"),
        ),
    ),
    (
        _("Agents"),
        (
            (_("Agents"), "smart_toy", "registry.Agent"),
            (_("Revisions"), "history", "registry.Revision"),
            (_("Rules"), "alt_route", "registry.RoutingRule"),
            (_("Sample queries"), "quiz", "registry.SampleQuery"),
            (_("Documents"), "library_books", "registry.Corpus"),
            (_("Programs' output"), "terminal", "registry.AgentLog"),
        ),
    ),
    (
        _("Conversations"),
        (
            (_("Sessions"), "forum", "sessions_app.Session"),
            (_("Runs"), "directions_run", "sessions_app.Run"),
            (_("Shared links"), "link", "sessions_app.SharedLink"),
        ),
    ),
    (
        _("Storage"),
        (
            (_("Attachments"), "attach_file", "embeds.Embed"),
            (_("User Storage"), "database", "storage_kv.StorageUsage"),
        ),
    ),
    (
        _("Operations"),
        (
            (_("Audit log"), "policy", "admin.LogEntry"),
            (_("Jobs"), "work_history", "procrastinate.ProcrastinateJob"),
            (_("Workers"), "engineering", "procrastinate.ProcrastinateWorker"),
            (_("Periodic jobs"), "schedule", "procrastinate.ProcrastinatePeriodicDefer"),
            (_("Signing keys"), "vpn_key", "accounts.SigningKey"),
            (_("Programs that sign in"), "login", "oauth2_provider.Application"),
        ),
    ),
)


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """unfold's `SIDEBAR["navigation"]` for whoever asks."""
    dashboard = {"title": _("Dashboard"), "icon": "monitoring", "link": reverse("admin:index")}
    groups = [
        {"title": title, "separator": True, "collapsible": False, "items": _items(pages, request)}
        for title, pages in GROUPS
    ]
    return [{"items": [dashboard]}, *(group for group in groups if group["items"])]


def _items(pages: tuple[Page, ...], request: HttpRequest) -> list[dict[str, Any]]:
    found = ((title, icon, apps.get_model(label)) for title, icon, label in pages)
    return [
        {"title": title, "icon": icon, "link": reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist")}
        for title, icon, model in found
        if admin.site.is_registered(model) and admin.site.get_model_admin(model).has_module_permission(request)
        if admin.site.get_model_admin(model).has_view_permission(request)
    ]
