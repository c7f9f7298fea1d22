"""The admin's dashboard: what the site is doing, on the admin's first page and, every few seconds, as a part of it."""

import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

import django
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from common.charts import Series, bars_by_day
from fixie_site import dashboard_numbers as numbers
from fixie_site.dashboard_numbers import DAY, Interval, Traffic, Window
from sessions_app.durations import told

T = TypeVar("T")

# So many seconds an answer serves everybody who looks: ten operators cost the database as much as one.
FRESH, STORAGE_FRESH = 2.5, 60.0
MAY_SEE = "sessions_app.view_run"


@dataclass(frozen=True, slots=True)
class Range:
    """What can be chosen. Charts tell times as `format` (of Django's `date`)."""

    label: Promise
    step: timedelta
    count: int
    format: str


RANGES = {
    "hour": Range(gettext_lazy("Hour"), timedelta(minutes=1), 60, "H:i"),
    "day": Range(gettext_lazy("Day"), timedelta(minutes=30), 48, "H:i"),
    "week": Range(gettext_lazy("Week"), DAY, 7, "j M"),
    "month": Range(gettext_lazy("Month"), DAY, 30, "j M"),
}

# One of what is kept is made of another.
_lock = threading.RLock()
_kept: dict[str, tuple[float, Any]] = {}


def for_index(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """unfold's DASHBOARD_CALLBACK: the dashboard, for those who may see runs; others get the list of what they may."""
    return {**context, **_context(request)} if request.user.has_perm(MAY_SEE) else context


def fragment(request: HttpRequest) -> HttpResponse:
    """The part of the page that is fetched again and again."""
    if not request.user.has_perm(MAY_SEE):
        raise PermissionDenied
    return render(request, "admin/dashboard/numbers.html", _context(request))


def kept(name: str, seconds: float, make: Callable[[], T]) -> T:
    """What `make` gave for `name`, at most so long ago. Whoever asks meanwhile waits for the one who makes it."""
    with _lock:
        if name not in _kept or time.monotonic() - _kept[name][0] > seconds:
            value = make()
            _kept[name] = time.monotonic(), value
        found: T = _kept[name][1]
        return found


def _context(request: HttpRequest) -> dict[str, Any]:
    chosen = request.GET.get("range", "")
    chosen = chosen if chosen in RANGES else "hour"
    found = kept(chosen, FRESH, lambda: _numbers(RANGES[chosen]))
    return {
        **found,
        "dashboard": True,
        "ranges": RANGES,
        "chosen": chosen,
        "format": RANGES[chosen].format,
        "told": _told(found["traffic"]),
        "charts": _charts(found["traffic"].intervals),
    }


def _numbers(span: Range) -> dict[str, Any]:
    """All that is asked of the database."""
    now = timezone.now()
    window = Window.until(now, span.step, span.count)
    return {
        "now": now,
        "window": window,
        "traffic": numbers.traffic(window),
        "busiest_agents": numbers.busiest_agents(window, now),
        "busiest_users": numbers.busiest_users(window),
        "work": numbers.work(),
        "jobs": numbers.jobs(),
        "health": numbers.agents(),
        "storage": kept("storage", STORAGE_FRESH, numbers.storage),
        "versions": _versions(),
    }


def _told(traffic: Traffic) -> dict[str, str]:
    """The figures that the page opens with, in words."""
    rate = 100 * traffic.failed / max(traffic.queries, traffic.failed, 1)
    return {
        "rate": _("%(rate)s %% of them") % {"rate": number_format(rate, 1)},
        "median": told(traffic.median / 1000) if traffic.median is not None else "-",
        "slow": told(traffic.slow / 1000) if traffic.slow is not None else "-",
    }


def _charts(intervals: list[Interval]) -> list[dict[str, Any]]:
    return [
        _chart(
            _("Queries"),
            intervals,
            [
                (_("failed"), "danger", lambda one: one.failures),
                (_("not failed"), "first", lambda one: max(one.queries - one.failures, 0)),
            ],
        ),
        _chart(
            _("Milliseconds until the whole answer"),
            intervals,
            [
                (_("half took at most"), "first", lambda one: one.median),
                (_("19 of 20 took at most, beyond that"), "second", lambda one: one.slow - one.median),
            ],
        ),
        _chart(
            _("Tokens"),
            intervals,
            [
                (_("read"), "first", lambda one: one.prompt_tokens),
                (_("written"), "second", lambda one: one.completion_tokens),
            ],
        ),
    ]


def _chart(
    label: str, intervals: list[Interval], parts: list[tuple[str, str, Callable[[Interval], int]]]
) -> dict[str, Any]:
    """For `admin/dashboard/chart.html`; parts are a name, a colour, and a number of each interval."""
    series = [Series(name, [number(one) for one in intervals]) for name, _colour, number in parts]
    drawn = bars_by_day([one.start for one in intervals], series)
    legend = [(name, colour) for name, colour, _number in parts]
    return {"label": label, "chart": drawn, "legend": legend}


@cache
def _versions() -> list[tuple[str, str]]:
    found = [("Fixie", _commit()), ("Django", django.get_version()), ("Python", platform.python_version())]
    return [(name, version) for name, version in found if version]


def _commit() -> str:
    """The beginning of the checkout's commit; nothing where this is no checkout."""
    git = settings.BASE_DIR / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        return (git / head.removeprefix("ref: ")).read_text()[:10] if head.startswith("ref: ") else head[:10]
    except OSError:
        return ""
