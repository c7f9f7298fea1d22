"""What the page of one's own usage shows: a chart by day and agent, the same as a table, and the ledger of credits."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from accounts.models import CreditEntry, UsageDay, User
from common.charts import Chart, Series, bars_by_day
from registry.usage import figures

# Agents with a colour of their own; the others together have one more.
COLOURS = 5
ROWS_MAX = 200
CREDITS_PAGE = 20
COLUMNS = ("day", "agent", *figures.KINDS)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the reader chose: so many days up to today (UTC), `queries` or `tokens`, of which agent (None: of all)."""

    days: int
    kind: str
    agent: int | None

    def period(self) -> tuple[date, date]:
        today = datetime.now(UTC).date()
        return today - timedelta(days=self.days - 1), today


@dataclass(slots=True)
class Sum:
    """What was used of an agent in all of these days, or of all: `name` is None then."""

    name: str | None
    queries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class UsageTable:
    """A user's usage. `agents` are all that they used in these days, as (id, name); `more` rows are left out."""

    chart: Chart
    agents: list[tuple[int, str]]
    sums: list[Sum]
    rows: list[UsageDay]
    more: int


@dataclass(frozen=True, slots=True)
class CreditLine:
    entry: CreditEntry
    reason: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """A page of a user's credits, newest first; `older` is what the next one comes after."""

    lines: list[CreditLine]
    older: int | None


def usage_table(user: User, shown: Shown) -> UsageTable:
    """What `user` used in these days. One query."""
    since, until = shown.period()
    rows = list(figures.usage_of(user, since, until))
    names = {row.agent: name_shown(row) for row in rows if row.agent is not None}
    listed = [row for row in rows if shown.agent is None or row.agent == shown.agent]
    days = [since + timedelta(days=n) for n in range(shown.days)]
    return UsageTable(
        chart=bars_by_day(days, _series(listed, days, names, shown.kind)),
        agents=sorted(names.items(), key=lambda each: each[1]),
        sums=_sums(listed, names),
        rows=listed[:ROWS_MAX],
        more=max(0, len(listed) - ROWS_MAX),
    )


def _sums(rows: Sequence[UsageDay], names: dict[int, str]) -> list[Sum]:
    """Of each agent, those with most queries first; and ahead of them of all, where all are shown."""
    sums: dict[int | None, Sum] = {}
    for row in rows:
        found = sums.setdefault(row.agent, Sum(None if row.agent is None else names[row.agent]))
        found.queries += row.queries
        found.prompt_tokens += row.prompt_tokens
        found.completion_tokens += row.completion_tokens
    return sorted(sums.values(), key=lambda each: (each.name is not None, -each.queries))


def _series(rows: Sequence[UsageDay], days: Sequence[date], names: dict[int, str], kind: str) -> list[Series]:
    """A series an agent, those with most first; what is over goes into the last."""
    sums: dict[int, dict[date, int]] = defaultdict(dict)
    for row in rows:
        if row.agent is not None and (value := figure(row, kind)):
            sums[row.agent][row.day] = value
    ordered = sorted(sums, key=lambda agent: -sum(sums[agent].values()))
    series = [Series(names[agent], [sums[agent].get(day, 0) for day in days]) for agent in ordered[:COLOURS]]
    if rest := ordered[COLOURS:]:
        series.append(Series(_("others"), [sum(sums[agent].get(day, 0) for agent in rest) for day in days]))
    return series


def figure(row: UsageDay, kind: str) -> int:
    """`queries`, or all `tokens`."""
    return row.queries if kind == "queries" else row.prompt_tokens + row.completion_tokens


def name_shown(row: UsageDay) -> str:
    """The agent that a row of `figures.usage_of` is about, for people."""
    return row.name or _("a deleted agent (%(number)s)") % {"number": row.agent}  # type: ignore[attr-defined]


def csv_rows(rows: QuerySet[UsageDay]) -> Iterator[tuple[object, ...]]:
    """Those of `figures.usage_of` under their `COLUMNS`; `agent` is empty for a day's total."""
    yield COLUMNS
    for row in rows.iterator():
        yield (row.day, figures.agent_of(row) or "", *(getattr(row, kind) for kind in figures.KINDS))


def ledger_of(user: User, after: int | None = None) -> Ledger:
    """A page of what was granted to `user`, and spent: the lines older than the one `after`, else the newest."""
    entries = user.credit_entries.order_by("-pk")
    if after is not None:
        entries = entries.filter(pk__lt=after)
    found = list(entries[: CREDITS_PAGE + 1])
    shown = found[:CREDITS_PAGE]
    return Ledger(
        lines=[CreditLine(entry, _reason(entry)) for entry in shown],
        older=shown[-1].pk if len(found) > CREDITS_PAGE else None,
    )


def _reason(entry: CreditEntry) -> str:
    return entry.reason if entry.run is None else _("A query beyond the daily limit")
