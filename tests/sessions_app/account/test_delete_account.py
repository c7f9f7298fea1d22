"""Deleting one's account: what must be typed, who may not go, and that nothing of the person is left in any table."""

import asyncio
import uuid
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from accounts import organizations
from common.errors import InvalidRequest, NotFound
from tests.agents import Behaviour, Exchange, answer
from tests.sessions_app.people import Person, wait_until
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import Organization, User

MakeUser = Callable[..., "User"]
AgentOf = Callable[[Person, Behaviour], str]
PASSWORD = "correct horse battery"
ADMIN, MEMBER = organizations.Membership.Role.ADMIN, organizations.Membership.Role.MEMBER


@pytest.fixture
def leaver(person: Callable[..., Person]) -> Person:
    return person(password=PASSWORD)


@pytest.fixture
def organization(leaver: Person) -> "Organization":
    return organizations.create_organization(by=leaver.user, handle=f"org-{uuid.uuid4().hex[:8]}", name="Lab")


def signed_in(user: "User") -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def delete(client: Client, user: "User", **changes: str) -> Any:
    return client.post("/account/delete", {"username": user.username, "password": PASSWORD, **changes})


def gone(user: "User") -> bool:
    from accounts.models import User

    return not User.objects.filter(pk=user.pk).exists()


def rows_about(user: "User", email: str) -> list[str]:
    """The tables with a row that holds the user's name, e-mail address, or id where it stands for them."""
    found = []
    names = [model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    with connection.cursor() as cursor:
        for table in names:
            cursor.execute(f'SELECT count(*) FROM "{table}" t WHERE t::text ~ %s', [f"{user.username}|{email}"])
            if cursor.fetchone()[0]:
                found.append(table)
            columns = [column.name for column in connection.introspection.get_table_description(cursor, table)]
            own = {"user_id"} | ({"owner_id"} if table.startswith(("sessions_app", "embeds")) else set())
            for column in own & set(columns):
                cursor.execute(f'SELECT count(*) FROM "{table}" WHERE {column} = %s', [user.pk])
                if cursor.fetchone()[0]:
                    found.append(f"{table}.{column}")
    return found


def test_nothing_of_the_person_is_left(
    site: Site, leaver: Person, organization: "Organization", agent_of: AgentOf, person: Callable[..., Person]
) -> None:
    from accounts.data_exports import begin_export
    from embeds.models import Blob, Embed
    from registry.models import Agent

    embed = leaver.http.post("/api/embeds", files={"file": ("a.txt", uuid.uuid4().bytes, "text/plain")}).json()
    loose = leaver.http.post("/api/embeds", files={"file": ("b.txt", uuid.uuid4().bytes, "text/plain")}).json()
    session = leaver.new_session()
    leaver.post(session, "Mine", embeds={"1": {"id": embed["id"]}})
    leaver.settled(session)
    agent = agent_of(leaver, answer({"message": {"text": "hi"}}))
    leaver.http.patch(f"/api/agents/{agent}", json={"published": True})
    other = person()
    others = other.new_session(agent)
    other.post(others, "Yours")
    other.settled(others)
    begin_export(user=leaver.user)
    blobs = list(Embed.objects.filter(owner=leaver.user).values_list("blob", flat=True))
    owner_handles = [leaver.user.username, organization.owner.handle]

    browser = signed_in(leaver.user)
    page = browser.get("/account/delete").content.decode()
    assert agent in page
    assert "1 other person asked it in the last month" in page
    assert organization.name in page
    done = delete(browser, leaver.user)

    assert done["Location"] == "/account/deleted"
    assert "Your account is deleted" in browser.get("/account/deleted").content.decode()
    assert "/accounts/login/" in browser.get("/account")["Location"]
    assert leaver.http.get("/api/sessions").status_code == 401
    wait_until(lambda: gone(leaver.user), 30)
    wait_until(lambda: not rows_about(leaver.user, leaver.user.email), 10)
    assert not Embed.objects.filter(pk__in=[embed["id"], loose["id"]]).exists()
    assert not Blob.objects.filter(pk__in=blobs).exists()
    assert not Agent.objects.filter(owner__handle__in=owner_handles).exists()
    # What others were told stays theirs.
    assert [message["kind"] for message in other.messages(others)] == ["query", "response"]


def test_work_in_progress_is_stopped_first(
    site: Site, leaver: Person, person: Callable[..., Person], agent_of: AgentOf, gate: Event
) -> None:
    from registry.models import Agent

    async def wait(exchange: Exchange) -> None:
        await asyncio.to_thread(gate.wait, 20)
        await answer({"message": {"text": "late"}})(exchange)

    agent = agent_of(person(), wait)
    owner, handle = agent.split("/")
    Agent.objects.filter(owner__handle=owner, handle=handle).update(published=True)
    session = leaver.new_session(agent)
    for text in ("first", "second"):
        leaver.post(session, text)

    delete(signed_in(leaver.user), leaver.user)

    assert leaver.http.post(f"/api/sessions/{session}/messages", json={"text": "more"}).status_code == 401
    wait_until(lambda: gone(leaver.user), 30)
    gate.set()
    wait_until(lambda: not rows_about(leaver.user, leaver.user.email), 10)


@pytest.mark.parametrize("changes", [{"username": "somebody"}, {"password": "wrong"}, {"username": "", "password": ""}])
def test_a_wrong_word_deletes_nothing(leaver: Person, changes: dict[str, str]) -> None:
    refused = delete(signed_in(leaver.user), leaver.user, **changes)

    assert refused.status_code == 400
    assert 'class="errorlist"' in refused.content.decode()
    leaver.user.refresh_from_db()
    assert leaver.user.is_active
    assert leaver.http.get("/api/sessions").status_code == 200


def test_who_has_no_password_must_have_signed_in_just_now(person: Callable[..., Person]) -> None:
    somebody = person()
    refused = delete(signed_in(somebody.user), somebody.user)

    assert refused.status_code == 400
    assert "sign in again first" in refused.content.decode()
    somebody.user.refresh_from_db()
    assert somebody.user.is_active


def test_many_tries_at_the_password_are_refused(leaver: Person) -> None:
    browser = signed_in(leaver.user)
    for _ in range(10):
        delete(browser, leaver.user, password="")

    assert "Too many tries" in delete(browser, leaver.user).content.decode()
    leaver.user.refresh_from_db()
    assert leaver.user.is_active


def test_the_last_admin_of_others_is_refused_and_told_what_to_do(
    leaver: Person, organization: "Organization", make_user: MakeUser
) -> None:
    mate = make_user()
    organizations.set_member(organization=organization, by=leaver.user, username=mate.username, role=MEMBER)

    refused = delete(signed_in(leaver.user), leaver.user)

    assert refused.status_code == 400
    assert f"/account/organizations/{organization.owner.handle}" in refused.content.decode()
    leaver.user.refresh_from_db()
    assert leaver.user.is_active
    organizations.set_member(organization=organization, by=leaver.user, username=mate.username, role=ADMIN)
    assert delete(signed_in(leaver.user), leaver.user).status_code == 302
    assert organization.members.filter(pk=mate.pk).exists()


def test_the_last_administrator_of_the_site_is_refused(make_user: MakeUser) -> None:
    from accounts.models import User
    from sessions_app.account.deletion import delete_account

    last = make_user(is_superuser=True)
    others = list(
        User.objects.filter(is_superuser=True, is_active=True).exclude(pk=last.pk).values_list("pk", flat=True)
    )
    User.objects.filter(pk__in=others).update(is_active=False)
    try:
        with pytest.raises(InvalidRequest) as refused:
            delete_account(user=last, by=last)
    finally:
        User.objects.filter(pk__in=others).update(is_active=True)
    assert refused.value.details["reason"] == "last_superuser"
    last.refresh_from_db()
    assert last.is_active


def test_nobody_deletes_somebody_else(make_user: MakeUser) -> None:
    from sessions_app.account.deletion import delete_account

    user, stranger = make_user(), make_user(is_staff=True)
    with pytest.raises(NotFound):
        delete_account(user=user, by=stranger)
    user.refresh_from_db()
    assert user.is_active
    assert Client().post("/account/delete", {"username": user.username})["Location"].startswith("/accounts/login/")


def test_an_account_that_is_deleted_twice_is_deleted_once(site: Site, leaver: Person) -> None:
    from sessions_app.account.deletion import delete_account

    delete_account(user=leaver.user, by=leaver.user)
    with suppress(NotFound):
        delete_account(user=leaver.user, by=leaver.user)
    wait_until(lambda: gone(leaver.user), 30)
    with pytest.raises(NotFound):
        delete_account(user=leaver.user, by=leaver.user)
