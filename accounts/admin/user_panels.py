"""What the administrator's page of a user shows beside the form: keys, sign-ins, organizations, usage, storage."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from accounts.models import ApiKey, Membership, UsageDay, User
from common.charts import Chart, Series, bars_by_day

USAGE_DAYS = 30
ROWS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the page; `url` leads to more of it."""

    label: str | Promise
    value: str
    url: str = ""


@dataclass(frozen=True, slots=True)
class UserPanels:
    usage: Chart
    keys: list[ApiKey]
    addresses: list[EmailAddress]
    accounts: list[SocialAccount]
    memberships: list[Membership]
    facts: list[Fact]

    @property
    def legend(self) -> list[tuple[str, str]]:
        """Names and colours, for `admin/dashboard/chart.html`."""
        return [(label, "first") for label in self.usage.labels]


Look = Callable[[User], Fact]
_looks: list[Look] = []


def tell_of_users(look: Look) -> Look:
    """Has the pages of users show a fact that an app above this one knows."""
    _looks.append(look)
    return look


def panels_of(user: User) -> UserPanels:
    """All of them, in a query each."""
    return UserPanels(
        usage=usage_chart(_asked_by_day(user)),
        keys=list(user.api_keys.order_by("-pk")[:ROWS_SHOWN]),
        addresses=list(EmailAddress.objects.filter(user=user)[:ROWS_SHOWN]),
        accounts=list(SocialAccount.objects.filter(user=user)[:ROWS_SHOWN]),
        memberships=list(user.membership_set.select_related("organization__owner")[:ROWS_SHOWN]),
        facts=[look(user) for look in _looks],
    )


def usage_chart(asked: dict[date, int]) -> Chart:
    """The queries of each of the last days, of which `asked` has those with any."""
    days = last_days()
    return bars_by_day(days, [Series(_("Queries"), [asked.get(day, 0) for day in days])])


def last_days() -> list[date]:
    """The last `USAGE_DAYS` days (UTC), today last."""
    today = datetime.now(UTC).date()
    return [today - timedelta(days=ago) for ago in reversed(range(USAGE_DAYS))]


def _asked_by_day(user: User) -> dict[date, int]:
    rows = UsageDay.objects.filter(user=user, agent=None, day__gte=last_days()[0])
    return dict(rows.values_list("day", "queries"))
