"""Lists of the admin as CSV: what a list shows with its filters, row by row, never all in memory."""

import csv
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import date, datetime
from io import StringIO
from operator import attrgetter
from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext_lazy as _

from accounts.asking import operator
from accounts.audit import record
from common.db import run_db

ROWS_AT_ONCE = 1000
# Before a table: without it Excel takes UTF-8 for the letters of its country.
MARK = "\ufeff"
# What a spreadsheet takes for the beginning of a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Exports:
    """For a ModelAdmin: `exported` are the columns, each an attribute or method of the rows (dotted), or a method
    here.

    The newest rows come first. Each export is noted in the audit log.
    """

    exported: ClassVar[Sequence[str]] = ()
    list_before_template = "admin/export.html"

    def get_urls(self) -> list[URLPattern]:
        options = self.opts  # type: ignore[attr-defined]
        view = self.admin_site.admin_view(self.export)  # type: ignore[attr-defined]
        name = f"{options.app_label}_{options.model_name}_export"
        return [path("export/", view, name=name), *super().get_urls()]  # type: ignore[misc]

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """Everything in the list with the filters, search and words of this address."""
        if not self.has_view_permission(request):  # type: ignore[attr-defined]
            raise PermissionDenied
        options = self.opts  # type: ignore[attr-defined]
        shown = reverse(f"admin:{options.app_label}_{options.model_name}_changelist")
        if request.method != "POST":
            return HttpResponseRedirect(shown)
        try:
            rows = self.get_changelist_instance(request).queryset  # type: ignore[attr-defined]
        except IncorrectLookupParameters:
            return HttpResponseRedirect(shown)
        return self._answer(request, rows, f"Exported the list: {request.GET.urlencode() or 'all'}.")

    @admin.action(description=_("Export as CSV"), permissions=["view"])
    def export_chosen(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase:
        return self._answer(request, queryset, f"Exported {queryset.count()} rows.")

    def _answer(self, request: HttpRequest, rows: QuerySet[Any], message: str) -> HttpResponseBase:
        record(by=operator(request), object=rows.model, message=message)
        answer = StreamingHttpResponse(self._lines(rows.order_by("-pk")), content_type="text/csv; charset=utf-8")
        answer.headers["Content-Disposition"] = f'attachment; filename="{rows.model._meta.model_name}.csv"'
        return answer

    async def _lines(self, rows: QuerySet[Any]) -> AsyncIterator[str]:
        yield table_of([[_heading(name) for name in self.exported]])
        left = rows
        while part := await run_db(self._part, left):
            last, lines = part
            yield lines
            left = rows.filter(pk__lt=last)

    def _part(self, rows: QuerySet[Any]) -> tuple[Any, str] | None:
        """The key of the last of some rows, and them as lines; None where there are none."""
        found = list(rows[:ROWS_AT_ONCE])
        lines = "".join(line_of([self._cell(row, name) for name in self.exported]) for row in found)
        return (found[-1].pk, lines) if found else None

    def _cell(self, row: Any, name: str) -> object:
        method = getattr(self, name, None)
        value = method(row) if callable(method) else attrgetter(name)(row)
        return value() if callable(value) else value


def _heading(column: str) -> str:
    """What a column is called: of `get_status_display` and `user.username` that is `status` and `user username`."""
    return column.removeprefix("get_").removesuffix("_display").replace(".", " ")


def table_of(rows: Iterable[Sequence[object]]) -> str:
    """A whole table as a file."""
    return MARK + "".join(map(line_of, rows))


def line_of(cells: Sequence[object]) -> str:
    """A line of RFC 4180. Texts that a spreadsheet would compute are set behind an apostrophe."""
    line = StringIO()
    csv.writer(line).writerow([_written(cell) for cell in cells])
    return line.getvalue()


def _written(cell: object) -> object:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "no"
        case int() | float():
            return cell
        case date() | datetime():
            return cell.isoformat()
    text = str(cell).replace("\0", "")
    return f"'{text}" if text.startswith(FORMULA) else text
