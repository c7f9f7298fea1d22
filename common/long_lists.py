"""The admin's lists of tables that may have millions of rows."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib.admin import ShowFacets
from django.contrib.admin.views.main import ORDER_VAR
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator
from unfold.views import ChangeList


class _Changes(ChangeList):  # type: ignore[misc]  # unfold is untyped
    """Sorts by one of the columns that the list names; another that an address asks for counts as none."""

    def get_ordering_field(self, field_name: Any) -> Any:
        return self.model_admin.sorted_by.get(field_name)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str]:
        asked = self.params.pop(ORDER_VAR, "").partition(".")[0]
        number = asked.removeprefix("-")
        known = {str(self.list_display.index(column)) for column in self.model_admin.sorted_by}
        if number in known:
            self.params[ORDER_VAR] = asked
        return list(super().get_ordering(request, queryset))


class LongList(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Rows are never counted: pages are "previous" and "next", and filters tell no numbers.

    `sorted_by` are the columns that it can be sorted by, one at a time, each with the field that does it, which has an
    index. A time at which rows are made is sorted by their primary keys, which they are given in the same order.
    """

    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    list_filter_submit = True
    list_disable_select_all = True
    sorted_by: ClassVar[Mapping[str, str]] = {}
    # Fields that a list is not filtered by: addresses such as `?token__startswith=a` would tell them by and by.
    hidden_lookups: ClassVar[tuple[str, ...]] = ()

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        if lookup.partition("__")[0] in self.hidden_lookups:
            return False
        return bool(super().lookup_allowed(lookup, value, request))

    def get_sortable_by(self, request: HttpRequest) -> tuple[str, ...]:
        return tuple(self.sorted_by)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[_Changes]:
        return _Changes
