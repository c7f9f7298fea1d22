"""What administrators see of usage and change of limits, and that the history tells what was changed to what."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Sum
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import AgentUsage, CreditEntry, UsageDay, User
from registry.actions import create_agent, delete_agent
from registry.models import Agent
from sessions_app.account.deletion import remove_account

MakeUser = Callable[..., User]
TODAY = datetime.now(UTC).date()


@pytest.fixture
def administrator() -> User:
    return User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def browser(administrator: User) -> Client:
    return browser_of(administrator)


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def page(browser: Client, path: str) -> str:
    answer = browser.get(f"/admin/{path}")
    assert answer.status_code == 200, answer.status_code
    return answer.content.decode()


def history(object_: object) -> list[str]:
    entries = LogEntry.objects.filter(object_id=object_.pk, content_type__model=object_._meta.model_name)
    return [f"{entry.user} {entry.get_change_message()}" for entry in entries.order_by("pk")]


def user_form(user: User, **changes: object) -> dict[str, object]:
    joined = {"date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    limits = {"daily_query_limit": user.daily_query_limit, "daily_token_limit": user.daily_token_limit or ""}
    names = {"username": user.username, "email": user.email, "is_active": "on"}
    return {**names, **joined, **limits, **changes}


def agent_form(agent: Agent, **changes: object) -> dict[str, object]:
    form = {"owner": agent.owner.handle, "handle": agent.handle, "name": agent.name, "description": ""}
    management = {"revisions-TOTAL_FORMS": "0", "revisions-INITIAL_FORMS": "0"}
    return {**form, **management, "more_info_url": "", "enabled": "on", "priority": "0", **changes}


def test_the_history_of_a_user_tells_who_changed_which_limit_from_what_to_what(browser, administrator, make_user):
    user = make_user()
    path = f"/admin/accounts/user/{user.pk}/change/"
    browser.post(path, user_form(user, date_joined_0=user.date_joined.date(), daily_query_limit=5))
    browser.post(path, user_form(user, daily_query_limit=5, daily_token_limit="", first_name="Anna"))

    first, second = history(user)

    assert first.startswith(f"{administrator} Changed ")
    assert "daily_query_limit: 1000 → 5" in first
    assert "daily_token_limit: 1000000 → none" in second
    assert "First name" in second
    assert "daily_query_limit" not in second
    user.refresh_from_db()
    assert (user.daily_query_limit, user.daily_token_limit) == (5, None)


def test_the_limits_of_an_agent_are_changed_with_history_and_hold_for_today(browser, administrator, agent, make_user):
    path = f"/admin/registry/agent/{agent.pk}/change/"
    AgentUsage.objects.create(agent=agent.pk, day=TODAY, slot=3, queries=20)
    UsageDay.objects.create(user=make_user(), agent=agent.pk, day=TODAY, queries=32)

    assert browser.post(path, agent_form(agent, daily_query_limit="40", daily_token_limit="9")).status_code == 302

    agent.refresh_from_db()
    assert (agent.daily_query_limit, agent.daily_token_limit) == (40, 9)
    (told,) = history(agent)
    assert "daily_query_limit: none → 40" in told
    assert "daily_token_limit: none → 9" in told
    slots = AgentUsage.objects.filter(agent=agent.pk)
    assert set(slots.values_list("queries", flat=True)) == {2}
    assert slots.aggregate(sum=Sum("queries"))["sum"] == 32
    assert "40" in page(browser, f"registry/agent/{agent.pk}/change/")


def test_usage_names_its_agents_and_is_read_only(browser, people, agent):
    gone = create_agent(by=people.owner, handle=f"gone-{uuid.uuid4().hex[:8]}")
    number = gone.pk
    for used in (None, agent.pk, number):
        UsageDay.objects.create(user=people.outsider, agent=used, day=TODAY, queries=77)
    delete_agent(agent=gone)
    AgentUsage.objects.create(agent=agent.pk, day=TODAY, slot=5, queries=88)

    days = page(browser, f"accounts/usageday/?user__id__exact={people.outsider.pk}")
    assert all(words in days for words in ("in all", agent.agent_id, f"(gone {number})"))
    slots = page(browser, "accounts/agentusage/")
    assert agent.agent_id in slots
    for model, row in (("usageday", UsageDay.objects.latest("pk")), ("agentusage", AgentUsage.objects.latest("pk"))):
        path = f"/admin/accounts/{model}/{row.pk}"
        assert browser.get(f"/admin/accounts/{model}/add/").status_code == 403
        assert browser.post(f"{path}/change/", {"queries": 0}).status_code == 403
        assert browser.post(f"{path}/delete/", {"post": "yes"}).status_code == 403
        row.refresh_from_db()


def test_the_lists_of_usage_take_the_same_number_of_queries_however_long_they_are(browser, people):
    def queries(model: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            page(browser, f"accounts/{model}/")
        return len(captured)

    def populate(number: int) -> None:
        agent = create_agent(by=people.owner, handle=f"agent-{number}")
        UsageDay.objects.create(user=people.owner, agent=agent.pk, day=TODAY, queries=1)
        AgentUsage.objects.create(agent=agent.pk, day=TODAY, slot=0)

    for model in ("usageday", "agentusage"):
        Agent.objects.filter(owner=people.owner.owner).delete()
        UsageDay.objects.filter(user=people.owner).delete()
        populate(0)
        queries(model)
        before = queries(model)
        assert before > 1
        for number in range(1, 4):
            populate(number)
        assert queries(model) == before


def test_credits_are_granted_on_a_page_of_their_own_that_the_users_page_leads_to(browser, administrator, make_user):
    user = make_user()
    shown = page(browser, f"accounts/user/{user.pk}/change/")
    assert f'href="/admin/accounts/creditentry/add/?user={user.pk}"' in shown

    form = {"user": user.pk, "amount": 25, "reason": "a workshop"}
    assert browser.post("/admin/accounts/creditentry/add/", form).status_code == 302

    entry = CreditEntry.objects.get(user=user)
    assert (entry.amount, entry.reason, entry.granted_by) == (25, "a workshop", administrator)
    assert User.objects.get(pk=user.pk).credits == 25
    assert history(entry) == [f"{administrator} Added."]
    ledger = page(browser, f"accounts/creditentry/?user__id__exact={user.pk}")
    assert "a workshop" in ledger
    assert "a workshop" in page(browser, f"accounts/creditentry/{entry.pk}/change/")


def test_what_cannot_be_granted_is_told_and_the_form_keeps_its_words(browser, make_user):
    user = make_user()
    form = {"user": user.pk, "amount": -1, "reason": "nothing to take"}

    answer = browser.post("/admin/accounts/creditentry/add/", form, follow=True)

    words = answer.content.decode()
    assert "A user has 0 to" in words
    assert "nothing to take" in words
    assert not CreditEntry.objects.filter(user=user).exists()
    assert not LogEntry.objects.filter(object_id="None", content_type__model="creditentry").exists()


def test_the_ledger_cannot_be_changed_or_deleted(browser, make_user):
    user = make_user()
    browser.post("/admin/accounts/creditentry/add/", {"user": user.pk, "amount": 5, "reason": "a gift"})
    entry = CreditEntry.objects.get(user=user)
    path = f"/admin/accounts/creditentry/{entry.pk}"

    assert browser.post(f"{path}/change/", {"user": user.pk, "amount": 500, "reason": "more"}).status_code == 403
    assert browser.post(f"{path}/delete/", {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [entry.pk], "post": "yes"}
    browser.post("/admin/accounts/creditentry/", chosen)

    assert CreditEntry.objects.get(user=user).amount == 5
    assert User.objects.get(pk=user.pk).credits == 5


def test_a_user_is_deleted_together_with_their_usage_and_ledger(browser, make_user):
    user = make_user()
    UsageDay.objects.create(user=user, agent=None, day=TODAY, queries=1)
    browser.post("/admin/accounts/creditentry/add/", {"user": user.pk, "amount": 5, "reason": "a gift"})

    assert browser.post(f"/admin/accounts/user/{user.pk}/delete/", {"post": "yes"}).status_code == 302

    assert not User.objects.get(pk=user.pk).is_active
    async_to_sync(remove_account)(user.pk)  # the task that is waiting
    assert not User.objects.filter(pk=user.pk).exists()
    assert not CreditEntry.objects.filter(user=user.pk).exists()


@pytest.mark.parametrize("permission", [None, "view_user", "change_user"])
def test_only_who_holds_the_permission_grants_credits(permission: str | None, make_user: MakeUser) -> None:
    clerk, user = make_user(is_staff=True), make_user()
    if permission:
        clerk.user_permissions.add(Permission.objects.get(codename=permission))
    form = {"user": user.pk, "amount": 25, "reason": "for me"}

    assert browser_of(clerk).post("/admin/accounts/creditentry/add/", form).status_code == 403

    assert User.objects.get(pk=user.pk).credits == 0


def test_somebody_who_is_no_administrator_sees_nothing(make_user: MakeUser) -> None:
    client = browser_of(make_user())
    for model in ("usageday", "agentusage", "creditentry"):
        assert client.get(f"/admin/accounts/{model}/").status_code == 302
