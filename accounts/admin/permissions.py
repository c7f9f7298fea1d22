"""Permissions in the reader's language: Django keeps their names in the database, in English."""

from typing import Any

from django import forms
from django.contrib.auth.models import Permission
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

# What Django allows with every model, by the beginnings of their names.
DJANGOS = {
    "Can add": _("Can add"),
    "Can change": _("Can change"),
    "Can delete": _("Can delete"),
    "Can view": _("Can view"),
}


class PermissionsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # no generic at run time
    def label_from_instance(self, obj: Permission) -> str:
        told = next((words for name, words in DJANGOS.items() if obj.name.startswith(f"{name} ")), None)
        return f"{obj.content_type} | {told or gettext(obj.name)}"


class NamesPermissions:
    """For a ModelAdmin with a field of permissions."""

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.related_model is Permission:
            kwargs["form_class"] = PermissionsField
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]
