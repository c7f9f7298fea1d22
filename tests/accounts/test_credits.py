"""Credits: who may grant them, that they are never below 0, and that the ledger is only ever added to."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, connections, transaction
from django.db.models import Sum

from accounts.actions import CREDITS_MAX, grant_credits, usage_today
from accounts.models import CreditEntry, User
from common.errors import FixieError, InvalidRequest, NotFound

MakeUser = Callable[..., User]


@pytest.fixture
def administrator(make_user: MakeUser) -> User:
    return make_user(is_superuser=True)


def credits_of(user: User) -> int:
    """The user's credits, which are the sum of the ledger."""
    credits = User.objects.get(pk=user.pk).credits
    assert credits == (user.credit_entries.aggregate(sum=Sum("amount"))["sum"] or 0)
    return credits


def test_an_administrator_grants_credits_and_takes_some_back(administrator: User, make_user: MakeUser) -> None:
    user = make_user()

    grant_credits(user=user, amount=10, reason=" a big day ", by=administrator)
    taken = grant_credits(user=user, amount=-4, reason="too many", by=administrator)

    assert credits_of(user) == 6
    assert usage_today(User.objects.get(pk=user.pk)).credits == 6
    lines = user.credit_entries.order_by("pk").values_list("amount", "reason", "granted_by", "run")
    assert list(lines) == [(10, "a big day", administrator.pk, None), (-4, "too many", administrator.pk, None)]
    assert taken.created is not None


@pytest.mark.parametrize(
    ("amount", "reason", "field"),
    [
        (0, "nothing", "amount"),
        (-6, "more than there is", "amount"),
        (CREDITS_MAX + 1, "too many", "amount"),
        (CREDITS_MAX, "too many together", "amount"),
        (1, "  ", "reason"),
        (1, "x" * 201, "reason"),
        (1, "two\nlines", "reason"),
        (1, "NUL \0", "reason"),
    ],
)
def test_what_cannot_be_granted_changes_nothing(
    amount: int, reason: str, field: str, administrator: User, make_user: MakeUser
) -> None:
    user = make_user()
    grant_credits(user=user, amount=5, reason="to begin with", by=administrator)

    with pytest.raises(InvalidRequest) as refused:
        grant_credits(user=user, amount=amount, reason=reason, by=administrator)

    assert refused.value.details["field"] == field
    assert credits_of(user) == 5
    assert user.credit_entries.count() == 1


def test_only_who_may_add_entries_grants_credits(make_user: MakeUser) -> None:
    user, clerk = make_user(), make_user(is_staff=True)
    for by in (user, clerk):
        with pytest.raises(NotFound):
            grant_credits(user=user, amount=5, reason="for me", by=by)
    assert credits_of(user) == 0

    clerk.user_permissions.add(Permission.objects.get(codename="add_creditentry"))
    grant_credits(user=user, amount=5, reason="allowed", by=User.objects.get(pk=clerk.pk))
    assert credits_of(user) == 5


def test_many_who_take_back_at_once_never_take_more_than_there_is(administrator: User, make_user: MakeUser) -> None:
    user = make_user()
    grant_credits(user=user, amount=7, reason="to begin with", by=administrator)
    refused = []

    def take() -> None:
        try:
            grant_credits(user=user, amount=-2, reason="back", by=administrator)
        except FixieError as error:
            refused.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert credits_of(user) == 1
    assert len(refused) == 5


def test_saving_a_user_that_was_loaded_before_leaves_the_credits_alone(
    administrator: User, make_user: MakeUser
) -> None:
    user = make_user()
    stale = User.objects.get(pk=user.pk)
    deferred = User.objects.only("first_name").get(pk=user.pk)
    grant_credits(user=user, amount=3, reason="meanwhile", by=administrator)

    stale.daily_query_limit = 9
    stale.save()
    deferred.first_name = "Anna"
    deferred.save()

    assert credits_of(user) == 3
    saved = User.objects.get(pk=user.pk)
    assert (saved.daily_query_limit, saved.first_name) == (9, "Anna")


@pytest.mark.parametrize(
    "change", [{"amount": 100}, {"reason": "another"}, {"run": None}, {"created": datetime(2020, 1, 1, tzinfo=UTC)}]
)
def test_the_database_refuses_to_change_a_line_of_the_ledger(
    change: dict[str, object], administrator: User, make_user: MakeUser
) -> None:
    entry = grant_credits(user=make_user(), amount=3, reason="a gift", by=administrator)
    before = CreditEntry.objects.filter(pk=entry.pk).values().get()

    with pytest.raises(IntegrityError), transaction.atomic():
        CreditEntry.objects.filter(pk=entry.pk).update(**change)

    assert CreditEntry.objects.filter(pk=entry.pk).values().get() == before


def test_a_line_outlives_the_administrator_behind_it_and_goes_with_its_user(make_user: MakeUser) -> None:
    user, administrator = make_user(), make_user(is_superuser=True)
    entry = grant_credits(user=user, amount=3, reason="a gift", by=administrator)

    administrator.delete()
    entry.refresh_from_db()
    assert (entry.amount, entry.granted_by) == (3, None)

    user.delete()
    assert not CreditEntry.objects.filter(pk=entry.pk).exists()
