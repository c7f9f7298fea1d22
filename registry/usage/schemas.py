"""What usage and credits look like over REST."""

from datetime import UTC, date, datetime, timedelta
from typing import Literal
from uuid import UUID

from django.db.models import QuerySet
from ninja import Field, Schema

from accounts.actions import Usage
from accounts.models import UsageDay
from common.errors import InvalidRequest
from registry.usage import figures

DAYS_MAX = 366
DAYS = 30
_FIRST_DAY, _LAST_DAY = date(2000, 1, 1), date(9999, 12, 31)


class Days(Schema):
    since: date | None = Field(None, ge=_FIRST_DAY, le=_LAST_DAY, description=f"{DAYS} days up to `until` by default.")
    until: date | None = Field(None, ge=_FIRST_DAY, le=_LAST_DAY, description="The last day; today (UTC) by default.")

    def days(self) -> tuple[date, date]:
        """The first and the last day. Raises InvalidRequest naming the parameter."""
        until = self.until or datetime.now(UTC).date()
        since = self.since or until - timedelta(days=DAYS - 1)
        if since > until:
            raise InvalidRequest("since is after until.", field="since")
        if (until - since).days >= DAYS_MAX:
            raise InvalidRequest(f"At most {DAYS_MAX} days are told at once.", field="since", limit=DAYS_MAX)
        return since, until


class UsageFilters(Days):
    agent: str = Field("", description="Only this agent: `owner/handle`.")
    kind: Literal["queries", "prompt_tokens", "completion_tokens"] | None = Field(
        None, description="Only this figure, and only where it is not 0."
    )
    limit: int = Field(200, ge=1, le=500)
    after: str = Field("", description="The `next` of the page before.")

    def page(self, rows: QuerySet[UsageDay]) -> list[UsageDay]:
        """One row more than `limit`, if there are so many. Raises InvalidRequest naming `after`."""
        if self.after:
            day, _, place = self.after.partition(".")
            try:
                rows = figures.rows_after(rows, date.fromisoformat(day), _checked_place(place))
            except ValueError:
                raise InvalidRequest("after is the `next` of a page before.", field="after") from None
        return list(rows[: self.limit + 1])


def _checked_place(place: str) -> int:
    number = int(place)
    if not 0 <= number < 2**63:
        raise ValueError(place)
    return number


class Today(Schema):
    """The present day (UTC), which ends at `resets_at`: queries `used` of `limit`, and tokens of language models."""

    used: int
    limit: int | None
    tokens: int
    token_limit: int | None
    resets_at: datetime


class OwnToday(Today):
    """`credits` are queries beyond the limit."""

    credits: int


class Figures(Schema):
    """Of a day; with `kind`, the other two are null."""

    day: date
    queries: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class UsageRow(Figures):
    """`agent` is null for the day's total, and `(gone NUMBER)` for an agent that is deleted or no longer to be seen."""

    agent: str | None


class UsagePage(Schema):
    today: OwnToday
    items: list[UsageRow]
    next: str | None


class AgentUsageOut(Schema):
    """What all users together asked. A day is told where there was any."""

    agent: str
    today: Today
    items: list[Figures]


class CreditFilters(Schema):
    limit: int = Field(50, ge=1, le=200)
    after: int | None = Field(None, ge=1, lt=2**63, description="The `next` of the page before.")


class CreditOut(Schema):
    """One line of the ledger: granted (or taken back) by an administrator, or spent by a run."""

    id: int
    amount: int
    reason: str
    run: UUID | None
    created: datetime


class CreditPage(Schema):
    credits: int
    items: list[CreditOut]
    next: int | None


def today_of(used: Usage) -> OwnToday:
    return OwnToday(
        used=used.used,
        limit=used.limit,
        tokens=used.tokens,
        token_limit=used.token_limit,
        credits=used.credits,
        resets_at=used.resets_at,
    )


def usage_page(used: Usage, rows: list[UsageDay], filters: UsageFilters) -> UsagePage:
    """The page of `rows`, which holds one more than fit on it where there is a next page."""
    shown = rows[: filters.limit]
    kinds = figures.KINDS if filters.kind is None else (filters.kind,)
    return UsagePage(
        today=today_of(used),
        items=[
            UsageRow(day=row.day, agent=figures.agent_of(row), **{kind: getattr(row, kind) for kind in kinds})
            for row in shown
        ],
        next=f"{shown[-1].day}.{shown[-1].agent or figures.TOTAL}" if len(rows) > filters.limit else None,
    )
