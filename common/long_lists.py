"""The admin's lists of tables that may have millions of rows."""

from typing import Any, ClassVar

from django.contrib.admin import ShowFacets
from django.http import HttpRequest
from unfold.admin import ModelAdmin
from unfold.paginator import InfinitePaginator


class LongList(ModelAdmin):  # type: ignore[misc]  # unfold is untyped
    """Rows are never counted: pages are "previous" and "next", and filters tell no numbers.

    What it is sorted by has an index; whoever adds a column does not let it be sorted by without one.
    """

    paginator = InfinitePaginator
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    list_filter_submit = True
    list_disable_select_all = True
    sortable_by: tuple[str, ...] = ()
    # Fields that a list is not filtered by: addresses such as `?token__startswith=a` would tell them by and by.
    hidden_lookups: ClassVar[tuple[str, ...]] = ()

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        if lookup.partition("__")[0] in self.hidden_lookups:
            return False
        return bool(super().lookup_allowed(lookup, value, request))

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """Leaves out an order that an address asks for, such as `?o=3`."""
        left = request.GET.copy()
        left.pop("o", None)
        request.GET = left  # type: ignore[assignment]  # for mypy it never changes
        return super().get_changelist_instance(request)
