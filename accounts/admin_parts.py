"""What the administrator's pages of all apps are made of."""

from typing import Any, ClassVar

from django.db.models import CASCADE, Model
from django.http import HttpRequest

from common.long_lists import LongList

LIMITS = ("daily_query_limit", "daily_token_limit")
# Of what goes with an object so many rows are counted.
COUNTED_MAX = 10_000


class ReadOnlyAdmin(LongList):
    """Rows that only the platform writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class UntouchableAdmin(ReadOnlyAdmin):
    """Rows that nobody deletes by themselves either; they go with what they belong to."""

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class CountsWhatGoes:
    """For a ModelAdmin: the page that asks before a deletion tells how much goes along, and does not load it.

    Whoever may delete an object may delete what belongs to it.
    """

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        objects = list(objs)
        counts = {str(objects[0]._meta.verbose_name_plural): len(objects)} if objects else {}
        for relation in objects[0]._meta.related_objects if objects else ():
            if relation.on_delete is CASCADE:
                rows = relation.related_model._base_manager.filter(**{f"{relation.field.name}__in": objects})
                name = str(relation.related_model._meta.verbose_name_plural)
                if number := len(rows.order_by().values_list("pk")[:COUNTED_MAX]):
                    counts[name] = counts.get(name, 0) + number
        return [str(each) for each in objects], counts, set(), []


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
