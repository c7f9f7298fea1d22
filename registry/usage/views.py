"""`/account/usage`: one's own usage by day and agent, to look at or as a file, and the ledger of one's credits.

Not among the views of `accounts`, which know no agents' names.
"""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.actions import usage_today
from accounts.exports import table_of
from accounts.models import User
from accounts.schemas import quota_out
from registry.usage import figures
from registry.usage.pages import Shown, csv_rows, ledger_of, usage_table

PERIODS = (30, 90)
ID_DIGITS = 18


@require_GET
@never_cache
@login_required
def account_usage(request: HttpRequest) -> HttpResponse:
    """The chart, the table, today's quota and the ledger."""
    assert isinstance(request.user, User)
    shown = _shown(request.GET)
    context = {
        "shown": shown,
        "periods": PERIODS,
        "table": usage_table(request.user, shown),
        "label": _("Queries by day and agent") if shown.kind == "queries" else _("Tokens by day and agent"),
        "quota": quota_out(usage_today(request.user)),
        "ledger": ledger_of(request.user, _number(request.GET.get("after", ""))),
    }
    return render(request, "account/usage.html", context)


@require_GET
@never_cache
@login_required
def usage_file(request: HttpRequest) -> HttpResponse:
    """The same days as comma-separated values, of all agents."""
    assert isinstance(request.user, User)
    since, until = _shown(request.GET).period()
    table = table_of(csv_rows(figures.usage_of(request.user, since, until)))
    name = f'attachment; filename="fixie-usage-{since}-{until}.csv"'
    return HttpResponse(table, content_type="text/csv; charset=utf-8", headers={"Content-Disposition": name})


def _shown(query: QueryDict) -> Shown:
    """What the address asks for; what makes no sense is what the page begins with."""
    days = next((days for days in PERIODS if query.get("days") == str(days)), PERIODS[0])
    kind = "tokens" if query.get("show") == "tokens" else "queries"
    # Of one's own rows alone: another number finds nothing.
    return Shown(days, kind, _number(query.get("agent", "")))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= ID_DIGITS else None
